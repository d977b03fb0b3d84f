package js

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"strings"
)

func cryptoOps() map[string]syncOp {
	return map[string]syncOp{
		"crypto.random": with(func(_ *Runtime, a struct {
			Length int `json:"length"`
		},
		) (any, error) {
			if a.Length < 0 || a.Length > 1<<24 {
				return nil, &OpError{Message: "The value of \"size\" is out of range.", Name: "RangeError", Code: "ERR_OUT_OF_RANGE"}
			}
			b := make([]byte, a.Length)
			_, err := rand.Read(b)
			return toBinary(b), err
		}),
		"crypto.hash":   with(hashOp),
		"crypto.derive": with(deriveOp),
		"crypto.cipher": with(cipherOp),
	}
}

func hashFunc(name string) (func() hash.Hash, error) {
	switch strings.ReplaceAll(strings.ToLower(name), "-", "") {
	case "md5":
		return md5.New, nil
	case "sha1", "rsasha1":
		return sha1.New, nil
	case "sha224":
		return sha256.New224, nil
	case "sha256", "rsasha256":
		return sha256.New, nil
	case "sha384":
		return sha512.New384, nil
	case "sha512", "rsasha512":
		return sha512.New, nil
	}
	return nil, &OpError{Message: "Digest method not supported", Code: "ERR_CRYPTO_INVALID_DIGEST"}
}

func hashOp(_ *Runtime, a struct {
	Algorithm string `json:"algorithm"`
	Key       *bin   `json:"key"` // of an HMAC
	Data      bin    `json:"data"`
},
) (any, error) {
	f, err := hashFunc(a.Algorithm)
	if err != nil {
		return nil, err
	}
	h := f()
	if a.Key != nil {
		h = hmac.New(f, a.Key.bytes())
	}
	h.Write(a.Data.bytes())
	return toBinary(h.Sum(nil)), nil
}

type deriveArgs struct {
	Kind       string `json:"kind"` // "pbkdf2" or "hkdf"
	Digest     string `json:"digest"`
	Password   bin    `json:"password"`
	Salt       bin    `json:"salt"`
	Info       bin    `json:"info"`
	Iterations int    `json:"iterations"`
	Length     int    `json:"length"`
}

func deriveOp(_ *Runtime, a deriveArgs) (any, error) {
	f, err := hashFunc(a.Digest)
	if err != nil {
		return nil, err
	}
	var key []byte
	if a.Kind == "hkdf" {
		key, err = hkdf.Key(f, a.Password.bytes(), a.Salt.bytes(), string(a.Info.bytes()), a.Length)
	} else {
		key, err = pbkdf2.Key(f, string(a.Password.bytes()), a.Salt.bytes(), a.Iterations, a.Length)
	}
	return toBinary(key), err
}

// cipherOp encrypts or decrypts with AES: aes-{128,192,256}-{gcm,cbc,ctr}.
func cipherOp(_ *Runtime, a struct {
	Algorithm string `json:"algorithm"`
	Decrypt   bool   `json:"decrypt"`
	Key       bin    `json:"key"`
	IV        bin    `json:"iv"`
	Data      bin    `json:"data"`
	Tag       bin    `json:"tag"`
	AAD       bin    `json:"aad"`
},
) (any, error) {
	name := strings.ToLower(a.Algorithm)
	block, err := aes.NewCipher(a.Key.bytes())
	if err != nil {
		return nil, &OpError{Message: "Invalid key length", Name: "RangeError", Code: "ERR_CRYPTO_INVALID_KEYLEN"}
	}
	iv, data := a.IV.bytes(), a.Data.bytes()
	switch {
	case strings.HasSuffix(name, "-gcm"):
		return gcm(block, iv, data, a.Tag.bytes(), a.AAD.bytes(), a.Decrypt)
	case strings.HasSuffix(name, "-ctr") && len(iv) == aes.BlockSize:
		out := make([]byte, len(data))
		cipher.NewCTR(block, iv).XORKeyStream(out, data)
		return map[string]bin{"data": toBinary(out)}, nil
	case strings.HasSuffix(name, "-cbc") && len(iv) == aes.BlockSize:
		return cbc(block, iv, data, a.Decrypt)
	}
	return nil, &OpError{Message: fmt.Sprintf("Unknown cipher or bad initialization vector: %s", a.Algorithm), Code: "ERR_CRYPTO_UNKNOWN_CIPHER"}
}

var errBadDecrypt = &OpError{Message: "Unsupported state or unable to authenticate data", Code: "ERR_OSSL_BAD_DECRYPT"}

func gcm(block cipher.Block, iv, data, tag, aad []byte, decrypt bool) (any, error) {
	g, err := cipher.NewGCMWithNonceSize(block, len(iv))
	if err != nil {
		return nil, err
	}
	if decrypt {
		out, err := g.Open(nil, iv, append(data, tag...), aad)
		if err != nil {
			return nil, errBadDecrypt
		}
		return map[string]bin{"data": toBinary(out)}, nil
	}
	out := g.Seal(nil, iv, data, aad)
	n := len(out) - g.Overhead()
	return map[string]bin{"data": toBinary(out[:n]), "tag": toBinary(out[n:])}, nil
}

func cbc(block cipher.Block, iv, data []byte, decrypt bool) (any, error) {
	size := block.BlockSize()
	if !decrypt {
		pad := size - len(data)%size
		for range pad {
			data = append(data, byte(pad))
		}
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
		return map[string]bin{"data": toBinary(data)}, nil
	}
	if len(data) == 0 || len(data)%size != 0 {
		return nil, errBadDecrypt
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad == 0 || pad > size {
		return nil, errBadDecrypt
	}
	return map[string]bin{"data": toBinary(data[:len(data)-pad])}, nil
}
