package proc

import (
	"golang.org/x/sys/windows"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// newNativeText reads what is no UTF-8 in the code page of the console, or, without a
// console, of the system.
func newNativeText() *nativeText {
	number, err := windows.GetConsoleOutputCP()
	if err != nil || number == 0 {
		number = windows.GetACP()
	}
	d := new(nativeText)
	if page := codePage(number); page != nil {
		d.page = page.NewDecoder().Transformer
	}
	return d
}

// codePage returns the encoding of a code page; nil for UTF-8 and for rare ones.
func codePage(number uint32) encoding.Encoding {
	switch number {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 855:
		return charmap.CodePage855
	case 858:
		return charmap.CodePage858
	case 860:
		return charmap.CodePage860
	case 862:
		return charmap.CodePage862
	case 863:
		return charmap.CodePage863
	case 865:
		return charmap.CodePage865
	case 866:
		return charmap.CodePage866
	case 874:
		return charmap.Windows874
	case 932:
		return japanese.ShiftJIS
	case 936:
		return simplifiedchinese.GBK
	case 949:
		return korean.EUCKR
	case 950:
		return traditionalchinese.Big5
	case 54936:
		return simplifiedchinese.GB18030
	}
	if ansi := []encoding.Encoding{
		charmap.Windows1250, charmap.Windows1251, charmap.Windows1252, charmap.Windows1253, charmap.Windows1254,
		charmap.Windows1255, charmap.Windows1256, charmap.Windows1257, charmap.Windows1258,
	}; number >= 1250 && number < 1250+uint32(len(ansi)) {
		return ansi[number-1250]
	}
	return nil
}
