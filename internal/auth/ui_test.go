package auth

import (
	"errors"
	"testing"
)

// The records are those of atomic-facts.md 3.4, key by key.
func TestRecords(t *testing.T) {
	notices := []struct {
		n    Notice
		want string
	}{
		{
			Notice{Method: MethodAuth, Auth: &AuthURL{URL: "https://a.test/?x=1&y=2", Instructions: "go"}},
			`{"type":"extension_ui_request","id":"1","method":"oauth_auth","provider":"p","loginId":"l","info":{"url":"https://a.test/?x=1&y=2","instructions":"go"}}`,
		},
		{
			Notice{Method: MethodAuth, Auth: &AuthURL{URL: "u"}},
			`{"type":"extension_ui_request","id":"1","method":"oauth_auth","provider":"p","loginId":"l","info":{"url":"u"}}`,
		},
		{
			Notice{Method: MethodDevice, Device: &DeviceCode{UserCode: "C", VerificationURI: "u", IntervalSeconds: 5, ExpiresInSeconds: 900}},
			`{"type":"extension_ui_request","id":"1","method":"oauth_device_code","provider":"p","loginId":"l",` +
				`"info":{"userCode":"C","verificationUri":"u","intervalSeconds":5,"expiresInSeconds":900}}`,
		},
		{
			Notice{Method: MethodProgress, Message: "wait"},
			`{"type":"extension_ui_request","id":"1","method":"oauth_progress","provider":"p","loginId":"l","message":"wait"}`,
		},
		{
			Notice{Method: MethodInfo, Message: "read"},
			`{"type":"extension_ui_request","id":"1","method":"oauth_info","provider":"p","loginId":"l","message":"read","links":[]}`,
		},
		{
			Notice{Method: MethodInfo, Message: "read", Links: []Link{{URL: "u"}, {Label: "L", URL: "v"}}},
			`{"type":"extension_ui_request","id":"1","method":"oauth_info","provider":"p","loginId":"l","message":"read","links":[{"url":"u"},{"label":"L","url":"v"}]}`,
		},
	}
	for _, tt := range notices {
		if got := encoded(t, tt.n.Record("1", "p", "l")); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	questions := []struct {
		q    Question
		want string
	}{
		{
			Question{Method: MethodPrompt, Prompt: Prompt{Message: "m", Placeholder: "ph"}, Secret: true},
			`{"type":"extension_ui_request","id":"2","method":"oauth_prompt","provider":"p","loginId":"l","prompt":{"message":"m","placeholder":"ph"}}`,
		},
		{
			Question{Method: MethodSelect, Prompt: Prompt{Message: "m", Options: []Option{{"a", "A"}, {"b", "B"}}}},
			`{"type":"extension_ui_request","id":"2","method":"oauth_select","provider":"p","loginId":"l","prompt":{"message":"m","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}}`,
		},
		{
			Question{Method: MethodCode, Prompt: Prompt{Message: "m"}},
			`{"type":"extension_ui_request","id":"2","method":"oauth_manual_code","provider":"p","loginId":"l"}`,
		},
	}
	for _, tt := range questions {
		if got := encoded(t, tt.q.Record("2", "p", "l")); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	want := `{"type":"extension_ui_request","id":"3","method":"oauth_manual_code_cancel","provider":"p","loginId":"l"}`
	if got := encoded(t, WithdrawCode("3", "p", "l")); got != want {
		t.Error(got)
	}
}

func TestCancelledQuestions(t *testing.T) {
	for method, want := range map[string]error{MethodPrompt: nil, MethodCode: nil, MethodSelect: ErrCancelled} {
		if answer, err := (Question{Method: method}).Cancelled(); answer != "" || !errors.Is(err, want) {
			t.Errorf("%s: %q, %v", method, answer, err)
		}
	}
	if ErrCancelled.Error() != "Login cancelled" {
		t.Error(ErrCancelled)
	}
}

func TestWebPage(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://e.test/a?b=c": true, "http://127.0.0.1:1/": true, "HTTPS://e.test": true, "ftp://e.test": false, "file:///etc": false,
		"javascript:alert(1)": false, "data:text/html,x": false, "e.test": false, "": false, "https://": false, "https://e.test/\x1b[2J": false,
	} {
		if _, got := webPage(text); got != ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}
