package event

// UIMethod is a method of ExtensionUIRequest: its name and a zero value of its members.
// Answered: the client is expected to send an extension_ui_response.
type UIMethod struct {
	Name     string
	Members  any
	Answered bool
}

// UIMethods returns what extensions ask and show (atomic-facts.md section 3).
func UIMethods() []UIMethod {
	return []UIMethod{
		{"select", UISelect{}, true},
		{"confirm", UIConfirm{}, true},
		{"input", UIInput{}, true},
		{"editor", UIEditor{}, true},
		{"notify", UINotify{}, false},
		{"setStatus", UIStatus{}, false},
		{"setWidget", UIWidget{}, false},
		{"setTitle", UITitle{}, false},
		{"set_editor_text", UIEditorText{}, false},
	}
}

// UISelect: choose one of the options. After timeout milliseconds nobody waits any more.
type UISelect struct {
	Title   string   `json:"title"`
	Options []string `json:"options"`
	Timeout float64  `json:"timeout,omitzero"`
}

// UIConfirm: yes or no.
type UIConfirm struct {
	Title   string  `json:"title"`
	Message string  `json:"message"`
	Timeout float64 `json:"timeout,omitzero"`
}

// UIInput: one line of text.
type UIInput struct {
	Title       string  `json:"title"`
	Placeholder string  `json:"placeholder,omitzero"`
	Timeout     float64 `json:"timeout,omitzero"`
}

// UIEditor: a longer text.
type UIEditor struct {
	Title   string `json:"title"`
	Prefill string `json:"prefill,omitzero"`
}

// UINotify: show a message.
type UINotify struct {
	Message    string     `json:"message"`
	NotifyType NotifyType `json:"notifyType,omitzero"`
}

// NotifyType says how urgent a message is.
type NotifyType string

// The kinds of messages.
const (
	NotifyInfo    NotifyType = "info"
	NotifyWarning NotifyType = "warning"
	NotifyError   NotifyType = "error"
)

// UIStatus: show a status under a key; without a text it goes.
type UIStatus struct {
	StatusKey  string `json:"statusKey"`
	StatusText string `json:"statusText,omitzero"`
}

// UIWidget: show lines under a key; without lines it goes.
type UIWidget struct {
	WidgetKey       string          `json:"widgetKey"`
	WidgetLines     []string        `json:"widgetLines,omitzero"`
	WidgetPlacement WidgetPlacement `json:"widgetPlacement,omitzero"`
}

// WidgetPlacement says where a widget is shown.
type WidgetPlacement string

// The places of widgets.
const (
	AboveEditor WidgetPlacement = "aboveEditor"
	BelowEditor WidgetPlacement = "belowEditor"
)

// UITitle: the title of the window.
type UITitle struct {
	Title string `json:"title"`
}

// UIEditorText: put a text into the editor.
type UIEditorText struct {
	Text string `json:"text"`
}
