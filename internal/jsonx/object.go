package jsonx

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object under construction: its members come out in the order in
// which their names were first set. The zero value is {}. Not safe for concurrent use.
type Object struct{ members []member }

type member struct {
	name  string
	value any
}

// Set sets a member; a name that is there already keeps its place.
func (o *Object) Set(name string, value any) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, member{name, value})
}

// Get returns the value that was set for a name, nil for none.
func (o *Object) Get(name string) any {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// Merge sets every member of a raw object. Nothing is set when raw is none; empty
// and null are no members.
func (o *Object) Merge(raw Raw) error {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return nil
	}
	members, err := Members(raw)
	if err != nil {
		return err
	}
	for _, m := range members {
		o.Set(m.Name, m.Value)
	}
	return nil
}

// MarshalJSONTo writes the members in their order.
func (o *Object) MarshalJSONTo(enc *Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o.members {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := MarshalEncode(enc, m.value); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// Member is one name and raw value of an object.
type Member struct {
	Name  string
	Value Raw
}

// Members returns the members of a raw object in their order. The values are copies.
func Members(raw Raw) ([]Member, error) {
	var members []Member
	err := Unmarshal(raw, (*memberList)(&members))
	return members, err
}

type memberList []Member

// UnmarshalJSONFrom reads an object's members.
func (l *memberList) UnmarshalJSONFrom(dec *Decoder) error {
	if dec.PeekKind() != '{' {
		return fmt.Errorf("expected an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		m := Member{Name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		m.Value = value.Clone()
		*l = append(*l, m)
	}
	_, err := dec.ReadToken()
	return err
}
