/// <reference path="./sdk.d.ts" />
export async function example0() {
  const rows = [];
  for await (const row of client.rows.byPage()) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example1() {
  const rows = [];
  for await (const row of client.rows.byOffset()) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example2() {
  const rows = [];
  for await (const row of client.rows.byCursor()) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example3() {
  const rows = [];
  for await (const row of client.rows.byLastId()) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example4() {
  const rows = [];
  for await (const row of client.rows.byLink()) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example5() {
  const rows = [];
  for await (const row of client.rows.bySpeakeasy({ since: "since" })) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example6() {
  const rows = [];
  for await (const row of client.rows.byFern()) {
    rows.push(row);
    if (rows.length >= 100) break;
  }
  return rows;
}
export async function example7() {
  return await client.rows.notPaged();
}
export {};
