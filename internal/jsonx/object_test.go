package jsonx_test

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestObjectKeepsOrder(t *testing.T) {
	var o jsonx.Object
	o.Set("b", 1)
	o.Set("a", "x")
	o.Set("b", []int{2})
	if err := o.Merge(jsonx.Raw(`{"z": {"y":1,"x":2}, "a":null}`)); err != nil {
		t.Fatal(err)
	}
	if err := o.Merge(nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Merge(jsonx.Raw(`[1]`)); err == nil {
		t.Error("an array was merged")
	}
	got, err := jsonx.Marshal(&o)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"b":[2],"a":null,"z":{"y":1,"x":2}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if o.Get("b") == nil || o.Get("none") != nil {
		t.Error("Get does not see what is set")
	}
}

func TestMembers(t *testing.T) {
	got, err := jsonx.Members(jsonx.Raw(`{"b":1,"a":[2]}`))
	if err != nil || len(got) != 2 || got[0].Name != "b" || string(got[1].Value) != "[2]" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "null", `"x"`, `{"a":`, `{"a":1`} {
		if got, err := jsonx.Members(jsonx.Raw(bad)); err == nil {
			t.Errorf("%q gave %v", bad, got)
		}
	}
}
