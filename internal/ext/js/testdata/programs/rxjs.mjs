import { bufferCount, concatMap, delay, from, interval, lastValueFrom, map, mergeMap, of, scan, take, toArray, catchError, throwError, retry, Subject, debounceTime } from "rxjs";
console.log(await lastValueFrom(interval(2).pipe(take(5), map((x) => x * x), scan((a, b) => a + b, 0), toArray())));
console.log(await lastValueFrom(from([3, 1, 2]).pipe(mergeMap((n) => of(n).pipe(delay(n * 5))), toArray())), await lastValueFrom(from([3, 1, 2]).pipe(concatMap((n) => of(n).pipe(delay(n))), bufferCount(2), toArray())));
let n = 0;
console.log(await lastValueFrom(of(1).pipe(mergeMap(() => (++n < 3 ? throwError(() => new Error("x")) : of("ok " + n))), retry(3), catchError((e) => of(e.message)))));
const s = new Subject(), out = lastValueFrom(s.pipe(debounceTime(5), toArray()));
s.next(1); s.next(2); s.complete();
console.log(await out);
