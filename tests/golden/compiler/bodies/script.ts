/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.bodies.sendJson({ name: "name", kind: "big" });
}
export async function example1() {
  return await client.bodies.sendList({ body: [1, 1] });
}
export async function example2() {
  return await client.bodies.sendChoice({ body: "body", request_body: "request_body" });
}
export async function example3() {
  return await client.bodies.sendTogether({ email: "email" });
}
export async function example4() {
  return await client.bodies.sendForm({ grant_type: "password" });
}
export async function example5() {
  return await client.bodies.upload({ name: "name", file: { base64: "aGVsbG8=", contentType: "application/octet-stream" } });
}
export async function example6() {
  return await client.bodies.sendText({ body: "text" });
}
export async function example7() {
  return await client.bodies.sendBytes({ body: { base64: "aGVsbG8=", contentType: "application/octet-stream" } });
}
export {};
