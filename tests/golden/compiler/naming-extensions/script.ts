/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.admin.users.listAPIs();
}
export async function example1() {
  return await client.admin.teams.listAll();
}
export async function example2() {
  return await client.ours.first();
}
export async function example3() {
  return await client.admin.users_();
}
export async function example4() {
  return await client.repos.listForOrg();
}
export async function example5() {
  return await client.repos.listForOrgF();
}
export async function example6() {
  return await client.widgets.list();
}
export async function example7() {
  return await client.widgets.create();
}
export async function example8() {
  return await client.widgets.get({ id: "id" });
}
export async function example9() {
  return await client.widgets.replace({ id: "id" });
}
export async function example10() {
  return await client.widgets.update({ id: "id" });
}
export async function example11() {
  return await client.widgets.delete({ id: "id" });
}
export async function example12() {
  return await client.widgets.listParts({ id: "id" });
}
export async function example13() {
  return await client.api.list();
}
export async function example14() {
  return await client.constructor_.then_();
}
export async function example15() {
  return await client._3DModels._2faCodes();
}
export async function example16() {
  return await client.用户.größe();
}
export async function example17() {
  return await client.j.list();
}
export async function example18() {
  return await client.class.delete();
}
export {};
