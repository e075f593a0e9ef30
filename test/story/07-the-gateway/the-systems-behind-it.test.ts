/**
 * # 7.5 The systems behind it
 *
 * What: Identity providers of two kinds, and a CIS that wants a certificate and a token, sends records
 * in its own way, or is a database.
 * Why: Every utility has other systems, and none of them is changed for Tieline.
 * Try: Set `cis.fields` wrong and run `tieline probe customer 7000000001`.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { createGuardedCis } from '../../api/cis/guarded.js'
import { createPostgres } from '../../api/cis/postgres.js'
import { createIssuer, createSigner } from '../../api/identity/issuer.js'
import { createProvider } from '../../api/identity/provider.js'
import * as saml from '../../api/identity/saml-provider.js'
import { people } from '../../api/rig.js'
import { tieline } from '../../infra/command-line.js'
import { createFolder } from '../../rig/folder.js'
import { createGatewayStory } from '../rig/gateway.js'
import { until } from '../rig/stack.js'

const folder = createFolder(t)
const place = (name: string) => join(folder, name)
const [own, foreign] = [demoCertificates(place('own')), demoCertificates(place('foreign'))]
const useCertificate = ({ clientCertFile, clientKeyFile }: typeof own) => {
  copyFileSync(clientCertFile, place('client.pem'))
  copyFileSync(clientKeyFile, place('client.key'))
}
useCertificate(own)
const signer = saml.createSamlSigner()
writeFileSync(place('saml.pem'), signer.publicKey)

const issuer = await createIssuer(createSigner())
const provider = await createProvider()
const guarded = await createGuardedCis({
  certificates: own,
  issuer: provider.issuer,
  target: () => gateway.cis.url,
})
const gateway = await createGatewayStory(t, {
  stack: {
    secret: (of) => ('env' in of && of.env === 'CIS' ? 'a secret: 100 % & more' : 'secret'),
  },
  profile: {
    identity: {
      kind: 'several',
      providers: [
        { kind: 'oidc', claim: 'sub', issuers: [{ issuer: issuer.url, audience: 'tieline' }] },
        {
          kind: 'saml',
          issuer: saml.entityId,
          audience: 'tieline',
          recipient: saml.acsUrl,
          certFiles: [place('saml.pem')],
        },
      ],
    },
    cis: {
      kind: 'rest',
      url: guarded.url,
      caFile: own.caFile,
      clientCertificate: { certFile: place('client.pem'), keyFile: place('client.key') },
      oauth: {
        tokenUrl: `${provider.issuer}/token`,
        clientId: 'gateway',
        clientSecret: { env: 'CIS' },
        scope: 'customer',
      },
      statusSeconds: 1,
    },
  },
})
t.teardown(() => Promise.all([issuer.close(), provider.stop(), guarded.close()]))
const { ask, story } = gateway

const tokenOf = (sub: string, claims: object = {}) => issuer.token({ claims: { sub, ...claims } })
const responseOf = (clientId: string, by = signer) => {
  const nameId = `<saml:NameID>${clientId}</saml:NameID>`
  return saml.encode(saml.signXml(saml.responseOf(saml.assertionOf({ nameId })), by))
}

t.test('a token with a nonce lets its customer in, an ID token does not', async (t) => {
  const welcome = { status: 200, text: JSON.stringify({ clientId: people.active }) }
  t.match(await ask('login', tokenOf(people.active, { nonce: 'n' })), welcome)
  const idToken = tokenOf(people.active, { nonce: 'n', at_hash: 'h' })
  t.match(await ask('login', idToken), { status: 401, text: '{"errorCode":1}' })
})

t.test('beside it, a SAML response lets in whom it names', async (t) => {
  const clientId = '7000000002'
  t.match(await ask('login', responseOf(clientId)), {
    status: 200,
    text: JSON.stringify({ clientId }),
  })
  t.match(JSON.parse((await ask('customer', responseOf(clientId))).text), { clientId })
  const forged = responseOf(clientId, saml.createSamlSigner())
  t.match(await ask('login', forged), { status: 401, text: '{"errorCode":1}' })
})

t.test('the CIS is shown a certificate and a token, and both may be renewed', async (t) => {
  const customer = async () => (await ask('customer', tokenOf(people.active))).status
  const before = guarded.answered.length
  t.equal(await customer(), 200)
  t.same(guarded.answered.slice(before), [200])
  await provider.restart({ newKeys: true })
  t.equal(await customer(), 200)
  t.same(guarded.answered.slice(before), [200, 401, 200], 'a refused token is replaced at once')
  useCertificate(foreign)
  t.equal(await customer(), 503, 'a certificate of another authority is refused')
  useCertificate(own)
  await until(async () => (await customer()) === 200)
})

const cleanRecord = { postalCode: '48201', state: 'MI' }

t.test(
  'a record that is not as strict as the specification is answered as it is meant',
  async (t) => {
    const clientId = '7000000003'
    const url = `${gateway.cis.url}/customers/${clientId}`
    const record = (await (await fetch(url)).json()) as { customerSites: { meters: object[] }[] }
    const [site] = record.customerSites
    const [meter] = site?.meters ?? []
    const water = { ...meter, meterId: 'WET', meterType: 'Water' }
    const odd = { ...site, ...cleanRecord, postalCode: '48201-1234', state: ' Michigan ' }
    const sites = [
      { ...odd, meters: [{ ...meter, meterId: 5_500_001 }, water] },
      { ...odd, externalSiteId: 'EMPTY', meters: [] },
    ]
    const body = { ...record, clientId: Number(clientId), customerSites: sites }
    await fetch(url, { method: 'PUT', body: JSON.stringify(body) })
    const answer = await ask('customer', tokenOf(clientId))
    t.equal(answer.status, 200)
    const { customerSites, ...person } = JSON.parse(answer.text)
    t.match(person, { clientId })
    t.match(customerSites, [{ ...cleanRecord, meters: [{ meterId: '5500001' }] }])
    t.equal(customerSites.length, 1, 'a site without a meter is left out')
    t.equal(customerSites[0].meters.length, 1, 'and a meter of another commodity')
    const meters = () =>
      story.reader.rows({
        sql: `SELECT meter_id FROM registration WHERE client_id = '${clientId}'`,
      })
    await until(async () => (await meters()).length > 0)
    t.same(await meters(), [{ meter_id: '5500001' }], 'nor is it registered')
  },
)

const cisOf = (port: number) => ({
  ...{ kind: 'sql', host: '127.0.0.1', port, database: 'postgres', user: 'cis', tls: 'off' },
  required: 'launchMinimum',
  queries: {
    customer: `SELECT id AS client_id, 'Ada' AS first_name, 'Haas' AS last_name, state AS acct_status
      FROM partner WHERE id = $1`,
    sites: `SELECT 'S' AS external_site_id, true AS is_primary, 'Ada' AS first_name, 'Haas' AS last_name,
      '1 Oak Street' AS address1, 'Detroit' AS city, 'MI' AS state, '48201' AS postal_code
      FROM device WHERE partner = $1`,
    meters: `SELECT 'S' AS external_site_id, 'A' AS account_number, serial AS meter_id, 'Electric' AS meter_type,
      'kWh' AS unit_of_measure, true AS is_primary, true AS is_ami, 'RES' AS rate_code, '7' AS billing_cycle_id
      FROM device WHERE partner = $1`,
  },
})

/** What the probe prints of a customer, with some settings of the CIS. */
async function probe(cis: object): Promise<string> {
  const profile = { companyCodes: ['DEMO'], timeZone: 'America/Detroit', cis }
  writeFileSync(place('profile.yaml'), JSON.stringify(profile))
  const asked = ['--profile', place('profile.yaml'), '--home', place('home')]
  return (await tieline('probe', 'customer', people.active, ...asked)).stdout
}

t.test('a CIS that is a database says in its own words what is wrong', async (t) => {
  const server = await createPostgres()
  t.teardown(server.close)
  await server.run('CREATE TABLE device (serial text, partner text)')
  const cis = cisOf(server.port)
  await story.restart({ cis })
  const customer = () => ask('customer', tokenOf(people.active))
  t.equal((await customer()).status, 503)
  const words =
    /configuration: PostgreSQL rejected cis\.queries\.customer: relation "partner" does not exist \(SQLSTATE 42P01\)/
  t.match(await probe(cis), words)
  t.match(story.logs().replaceAll('\\"', '"'), words, 'the log says the same')
  t.match(await probe({ ...cis, database: 'nowhere' }), /the login .*database "nowhere" does not/)
  await server.run(`CREATE TABLE partner (id text, state text);
    INSERT INTO partner VALUES ('${people.active}', 'A');
    INSERT INTO device VALUES ('M-SQL', '${people.active}')`)
  await until(async () => (await customer()).status === 200)
  const found = JSON.parse((await customer()).text)
  t.match(found, { clientId: people.active, customerSites: [{ meters: [{ meterId: 'M-SQL' }] }] })
  t.notMatch(await probe(cis), words, 'only the database was changed')
})
