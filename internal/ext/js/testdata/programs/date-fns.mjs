import { addMonths, differenceInCalendarDays, eachDayOfInterval, endOfMonth, format, formatDistance, isWeekend, parse, parseISO, startOfWeek, formatISO } from "date-fns";
import { de } from "date-fns/locale";
const d = parseISO("2026-01-31T12:34:56");
console.log(format(d, "yyyy-MM-dd HH:mm:ss EEEE do 'of' MMMM, 'week' I"), format(d, "PPPP", { locale: de }), formatISO(addMonths(d, 1), { representation: "date" }), differenceInCalendarDays(endOfMonth(d), parseISO("2025-12-25")), formatDistance(d, parseISO("2026-02-20"), { addSuffix: true }), isWeekend(d));
console.log(eachDayOfInterval({ start: d, end: parseISO("2026-02-02") }).length, format(parse("02/11/2025", "MM/dd/yyyy", new Date(0)), "d MMM yy"), format(startOfWeek(d, { weekStartsOn: 1 }), "dd"));
