package network

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

// Texts of certificates that cannot be used; the variable and the path are in them.
const (
	textCARead   = "the certificates that %s names cannot be read: %v"
	textCABroken = "the certificates that %s names cannot be used: %s: %s"
	textNoPEM    = "there is no PEM certificate in it"
	textBadPEM   = "a PEM block in it is broken"
	textBadCert  = "no certificate in it can be read"
)

// caVariables name files of certificates that are trusted beside the system's. The first
// is OpenSSL's and Go's, which on Linux takes it in place of the system's own file; the
// other is what users of programs in JavaScript have set.
var caVariables = [...]string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"}

// roots returns the authorities to trust, nil for those of the system alone. The error
// is a *SetupError.
func roots(env func(string) (string, bool)) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, name := range caVariables {
		path, set := env(name)
		if !set || path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, &SetupError{fmt.Sprintf(textCARead, name, err)}
		}
		if pool == nil {
			if pool, err = x509.SystemCertPool(); err != nil { // a system without any
				pool = x509.NewCertPool()
			}
		}
		if trouble := add(pool, data); trouble != "" {
			return nil, &SetupError{fmt.Sprintf(textCABroken, name, path, trouble)}
		}
	}
	return pool, nil
}

var beginCertificate = []byte("-----BEGIN CERTIFICATE-----")

// add adds the certificates of a PEM file and returns what is wrong with it. In a bundle
// some may be of a kind that cannot be read; that is no reason to refuse the others.
func add(pool *x509.CertPool, data []byte) (trouble string) {
	begun, blocks, added := bytes.Count(data, beginCertificate), 0, 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		blocks++
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			pool.AddCert(cert)
			added++
		}
	}
	switch {
	case begun == 0:
		return textNoPEM
	case blocks < begun:
		return textBadPEM
	case added == 0:
		return textBadCert
	}
	return ""
}
