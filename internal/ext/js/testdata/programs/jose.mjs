import * as jose from "jose";
const key = new TextEncoder().encode("a secret of at least thirty-two bytes!");
const jwt = await new jose.SignJWT({ role: "x" }).setProtectedHeader({ alg: "HS256" }).setIssuedAt(1000).setIssuer("me").setExpirationTime(4102444800).sign(key);
console.log(jwt, (await jose.jwtVerify(jwt, key, { issuer: "me" })).payload);
try { await jose.jwtVerify(jwt.slice(0, -2) + "xx", key); } catch (e) { console.log(e.code); }
const k32 = new Uint8Array(32).fill(1);
const jwe = await new jose.CompactEncrypt(new TextEncoder().encode("hidden")).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(k32);
console.log(new TextDecoder().decode((await jose.compactDecrypt(jwe, k32)).plaintext), jose.decodeProtectedHeader(jwe));
const { publicKey, privateKey } = await jose.generateKeyPair("ES256", { extractable: true });
const signed = await new jose.SignJWT({ a: 1 }).setProtectedHeader({ alg: "ES256" }).sign(privateKey);
console.log((await jose.jwtVerify(signed, publicKey)).payload, (await jose.exportJWK(publicKey)).crv);
