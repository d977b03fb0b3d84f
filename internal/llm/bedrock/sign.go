package bedrock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// service is the name that signatures are made for.
const service = "bedrock"

// sign adds the signature to the headers of r, whose body is bytes. The signature
// covers every header that r has.
func sign(ctx context.Context, r *wire.Request, k keys, region string, now time.Time) error {
	content, _ := r.Body.([]byte)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(content))
	if err != nil { // the URL is not shown: it may hold a secret
		return &llm.Error{Kind: llm.ErrBadRequest, Message: wire.TextBadURL, Err: err}
	}
	req.Header = r.Header.Clone()
	sum := sha256.Sum256(content)
	credentials := aws.Credentials{AccessKeyID: k.id, SecretAccessKey: k.secret, SessionToken: k.token}
	err = v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), service, region, now)
	if err != nil {
		return &llm.Error{Kind: llm.ErrBadRequest, Message: textBadRequest + err.Error(), Err: err}
	}
	r.Header = req.Header
	return nil
}
