package schema

import (
	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// UIPrefix is the prefix of the definitions of extension_ui_request, one a method.
const UIPrefix = EventPrefix + "extension_ui_request."

// uiRequests describes extension_ui_request: a union of its methods, those of extensions
// and those of logins.
func (g *generator) uiRequests() *jsonx.Object {
	var methods []any
	for _, m := range event.UIMethods() {
		o := uiRequest(m.Name)
		g.fields(o, typeOf(m.Members))
		methods = append(methods, g.define(UIPrefix+m.Name, o.closed()))
	}
	for _, m := range g.loginMethods() {
		o := uiRequest(m.name)
		o.member("provider", typed("string"), true)
		o.member("loginId", typed("string"), true)
		for _, f := range m.members {
			o.member(f.name, f.form, true)
		}
		methods = append(methods, g.define(UIPrefix+m.name, o.closed()))
	}
	return anyOf(methods...)
}

func uiRequest(method string) *object {
	o := newObject("")
	o.member("type", constant(event.ExtensionUIRequest{}.Kind()), true)
	o.member("id", typed("string"), true)
	o.member("method", constant(method), true)
	return o
}

// loginMethod is a notice or a question of a login, as auth.Record writes it.
type loginMethod struct {
	name    string
	members []loginMember
}

type loginMember struct {
	name string
	form *jsonx.Object
}

func (g *generator) loginMethods() []loginMethod {
	text := func(name string) loginMember { return loginMember{name, typed("string")} }
	prompt := loginMember{"prompt", g.of(auth.Prompt{})}
	return []loginMethod{
		{auth.MethodAuth, []loginMember{{"info", g.of(auth.AuthURL{})}}},
		{auth.MethodDevice, []loginMember{{"info", g.of(auth.DeviceCode{})}}},
		{auth.MethodProgress, []loginMember{text("message")}},
		{auth.MethodInfo, []loginMember{text("message"), {"links", array(g.of(auth.Link{}))}}},
		{auth.MethodPrompt, []loginMember{prompt}},
		{auth.MethodSelect, []loginMember{prompt}},
		{auth.MethodCode, nil},
		{auth.MethodCodeCancel, nil},
	}
}
