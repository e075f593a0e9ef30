import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { t } from 'tap'
import { createSqlCis } from '../../../api/cis/sql.js'
import { cisSettings, type SqlCisSettings } from '../../../schemas/settings/gateway-cis.js'
import { conform } from './conformance.js'
import { createPostgres } from './postgres.js'

const tables = `
CREATE TABLE partner (id text, first text, last text, company text, state text, locked boolean, remaining bigint);
CREATE TABLE premise (id text, partner text, street text, town text, region text, zip text);
CREATE TABLE device (serial text, premise text, contract text, kind text, tariff text, portion int);
INSERT INTO partner VALUES ('C-1', 'Ada', 'Haas', NULL, 'A', NULL, NULL),
  ('C-locked', 'Ben', 'Ito', NULL, 'A', true, 0), ('C-bad', 'Ines', 'Costa', NULL, 'A', NULL, NULL);
INSERT INTO premise VALUES ('S-1', 'C-1', '1 Oak Street', 'Detroit', 'MI', '48201'),
  ('S-2', 'C-locked', '2 Oak Street', 'Detroit', 'MI', '48201'),
  ('S-3', 'C-bad', '3 Oak Street', 'Detroit', 'MI', NULL);
INSERT INTO device VALUES ('M-1', 'S-1', 'A-1', 'Electric', 'RES', 7),
  ('M-2', 'S-2', 'A-2', 'Electric', 'RES', 7), ('M-3', 'S-3', 'A-3', 'Electric', 'RES', 7);
`

const queries = {
  customer: `SELECT id AS client_id, first AS first_name, last AS last_name, company AS business_name,
    state AS acct_status, locked, remaining AS attempts_remaining FROM partner WHERE id = $1`,
  sites: `SELECT premise.id AS external_site_id, true AS is_primary, first AS first_name, last AS last_name,
    street AS address1, town AS city, region AS state, zip AS postal_code
    FROM premise JOIN partner ON partner = partner.id WHERE partner = $1`,
  meters: `SELECT premise AS external_site_id, contract AS account_number, serial AS meter_id,
    kind AS meter_type, 'kWh' AS unit_of_measure, true AS "isPrimary", true AS isami,
    tariff AS rate_code, portion AS billing_cycle_id
    FROM device JOIN premise ON premise = premise.id WHERE partner = $1`,
}

const settingsOf = (port: number, more: object = {}) =>
  cisSettings.parse({
    kind: 'sql',
    host: '127.0.0.1',
    port,
    database: 'postgres',
    user: 'cis',
    tls: 'off',
    queries,
    ...more,
  }) as SqlCisSettings

t.test('a CIS that is a PostgreSQL database', async (t) => {
  const server = await createPostgres()
  await server.run(tables)
  let isClosed = false
  await conform(t, async () => ({
    connect: (timeoutMs) => createSqlCis(settingsOf(server.port, { timeoutMs }), undefined),
    slow: () =>
      server.run(`ALTER TABLE partner RENAME TO partners;
        CREATE VIEW partner AS SELECT partners.* FROM partners, pg_sleep(5)`),
    down: async () => {
      isClosed = true
      await server.close()
    },
  }))
  t.teardown(async () => {
    if (!isClosed) await server.close()
  })
})

t.test('a query that the database refuses is named by its code, and heals', async (t) => {
  const server = await createPostgres()
  t.teardown(server.close)
  const cis = createSqlCis(settingsOf(server.port, { rowsMax: 2 }), undefined)
  t.teardown(cis.close)
  await t.rejects(cis.fetch('C-1'), {
    code: 'CIS_ANSWER',
    message:
      /configuration: PostgreSQL rejected cis.queries.customer: relation "partner" does not exist \(SQLSTATE 42P01\)/,
  })
  const elsewhere = createSqlCis(settingsOf(server.port, { database: 'nowhere' }), undefined)
  t.teardown(elsewhere.close)
  await t.rejects(elsewhere.fetch('C-1'), {
    code: 'CIS_ANSWER',
    message: /configuration: .*the login at .*database "nowhere" does not exist \(SQLSTATE 3D000\)/,
  })
  await server.run(tables)
  const { queries } = settingsOf(server.port, {})
  const typed = { ...queries, sites: `${queries.sites} AND $1::text::int > 0` }
  const strict = createSqlCis(settingsOf(server.port, { queries: typed }), undefined)
  t.teardown(strict.close)
  const failure = String(await strict.fetch('C-1').catch((error: unknown) => error))
  t.match(failure, /rejected cis.queries.sites \(SQLSTATE 22P02\)/)
  t.notMatch(failure, 'C-1', 'a message that quotes a value is left out')
  await server.run(`CREATE FUNCTION known(id text) RETURNS boolean LANGUAGE plpgsql AS
    $$BEGIN RAISE undefined_table USING MESSAGE = 'none for ' || id; END$$`)
  const called = { ...queries, customer: `${queries.customer} AND known($1)` }
  const calling = createSqlCis(settingsOf(server.port, { queries: called }), undefined)
  t.teardown(calling.close)
  const raised = String(await calling.fetch('C-1').catch((error: unknown) => error))
  t.match(raised, /rejected cis.queries.customer \(SQLSTATE 42P01, raised in a function\)/)
  t.notMatch(raised, 'C-1', 'so is one of a function of the utility')
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } })
  await server.run(`INSERT INTO device SELECT 'X-' || n, 'S-1', 'A-1', 'Gas', 'RES', 7
    FROM generate_series(1, 5) AS n`)
  await t.rejects(cis.fetch('C-1'), { code: 'CIS_ANSWER', message: /more than 2 rows/ })
  await server.run(`INSERT INTO partner SELECT * FROM partner`)
  await t.rejects(cis.fetch('C-locked'), { code: 'CIS_ANSWER', message: /several rows/ })
})

t.test('a connection that breaks during a query fails this query only', async (t) => {
  const server = await createPostgres()
  await server.run(tables)
  let cut: 'destroy' | 'resetAndDestroy' = 'destroy'
  const proxy = createServer((socket) => {
    const behind = connect(server.port, '127.0.0.1')
    for (const one of [socket, behind]) one.on('error', () => undefined)
    socket.pipe(behind).pipe(socket)
    socket.on('data', (bytes) => {
      if (bytes.includes('C-locked')) socket[cut]()
    })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const cis = createSqlCis(settingsOf(port), undefined)
  t.teardown(async () => {
    await cis.close()
    proxy.close()
    await server.close()
  })
  for (cut of ['destroy', 'resetAndDestroy'] as const) {
    await t.rejects(cis.fetch('C-locked'), { code: 'CIS_UNREACHABLE' }, cut)
    t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } })
  }
})

t.test('a connection that the database ended fails no query', async (t) => {
  const server = await createPostgres()
  await server.run(`${tables}; CREATE ROLE gate LOGIN SUPERUSER`)
  const cis = createSqlCis(settingsOf(server.port, { user: 'gate' }), undefined)
  t.teardown(async () => {
    await cis.close()
    await server.close()
  })
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } })
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gate'`
  // Another program: nothing is read meanwhile, so the pool does not know of it.
  execFileSync('psql', [`postgres://cis@127.0.0.1:${server.port}/postgres`, '-c', end])
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } })
})

t.test('a database asks for a password that is not configured', async (t) => {
  const server = await createPostgres()
  t.teardown(server.close)
  await server.run(`CREATE ROLE reader LOGIN PASSWORD 'open sesame'`)
  await server.askPassword('reader')
  const cis = createSqlCis(settingsOf(server.port, { user: 'reader' }), undefined)
  t.teardown(cis.close)
  await t.rejects(cis.fetch('C-1'), {
    code: 'CIS_ANSWER',
    message:
      'configuration: PostgreSQL asks user reader for a password; set cis.password in the profile',
  })
})

t.test('a site and its meters may have the same identifier in different types', async (t) => {
  const server = await createPostgres()
  const cis = createSqlCis(settingsOf(server.port), undefined)
  t.teardown(async () => {
    await cis.close()
    await server.close()
  })
  await server.run(`${tables}; ALTER TABLE premise ALTER id TYPE char(8)`)
  t.match(await cis.fetch('C-1'), ofSite(/^S-1 *$/), 'with blanks behind it')
  await server.run(`ALTER TABLE premise ALTER id TYPE int USING substr(id, 3)::int;
    ALTER TABLE device ALTER premise TYPE bigint USING substr(premise, 3)::int`)
  t.match(await cis.fetch('C-1'), ofSite(/^1$/), 'as a number and as its text')
})

t.test('where clients are numbers, no other text is one', async (t) => {
  const server = await createPostgres()
  const toNumber = `USING substr(id, 3)::bigint`
  await server.run(`${tables}; DELETE FROM partner WHERE id <> 'C-1';
    ALTER TABLE partner ALTER id TYPE bigint ${toNumber}`)
  const cis = createSqlCis(settingsOf(server.port, { queries: numeric }), undefined)
  const other = { ...numeric, meters: queries.meters.replace('partner = $1', 'portion = $1') }
  const mixed = createSqlCis(settingsOf(server.port, { queries: other }), undefined)
  t.teardown(async () => {
    await Promise.all([cis.close(), mixed.close()])
    await server.close()
  })
  t.match(await cis.fetch('1'), { record: { clientId: '1' } })
  for (const clientId of ['tieline-doctor-0a', '1.5', '99999999999999999999']) {
    t.equal(await cis.fetch(clientId), undefined, clientId)
  }
  await t.rejects(mixed.fetch('3000000000'), {
    code: 'CIS_ANSWER',
    message: /rejected cis.queries.meters \(SQLSTATE 22003\);/,
  })
})

const numeric = {
  ...queries,
  sites: queries.sites.replaceAll('partner = partner.id', 'false'),
}

const ofSite = (externalSiteId: RegExp) => ({
  record: { customerSites: [{ externalSiteId, meters: [{ meterId: 'M-1' }] }] },
})
