import { Validator } from '@seriousme/openapi-schema-validator'
import { t } from 'tap'
import { versionHeaders } from '../../../api/handle.js'
import { type OpenApiOptions, toOpenApi } from '../../../api/routes/openapi.js'
import { renderApiReference } from '../../../api/routes/reference.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

const usual: OpenApiOptions = {
  version: 'v1',
  isDeprecated: false,
  errorStyle: 'table',
  unknownStatus: 401,
  required: 'full',
  hasBind: true,
  hasReads: true,
  hasPull: true,
  hasConnect: true,
  hasIntake: true,
}

t.test('the document is valid OpenAPI 3.1, whatever the profile', async (t) => {
  const variants: readonly Partial<OpenApiOptions>[] = [
    {},
    { errorStyle: 'status' },
    { unknownStatus: 404 },
    { required: 'launchMinimum' },
    { hasBind: false },
    { hasIntake: false },
    { hasConnect: false },
    { hasReads: false, hasPull: false },
    { hasBind: false, hasIntake: false },
    { isDeprecated: true, version: 'v2' },
  ]
  for (const variant of variants) {
    const document = toOpenApi({ ...usual, ...variant })
    const result = await new Validator().validate(structuredClone(document))
    t.ok(result.valid, `${JSON.stringify(variant)} ${JSON.stringify(result.errors)}`)
  }
  const broken = { ...toOpenApi(usual), paths: { '/x': { get: { responses: 7 } } } }
  t.notOk((await new Validator().validate(broken)).valid, 'the validator sees what is wrong')
})

t.test('it says what the schemas say', async (t) => {
  const text = JSON.stringify(toOpenApi(usual))
  t.match(JSON.parse(text), {
    components: {
      schemas: {
        Customer: { required: ['clientId', 'customerSites'] },
        Meter: { properties: { meterType: { enum: ['Electric', 'Gas'] } } },
        BindRequest: { required: ['hemProfileId', 'accountSlid', 'macAddress', 'installCode'] },
        ErrorModel: { properties: { errorCode: { enum: [1, 2, 3, 4, 86] } } },
      },
    },
  })
  const refs = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name,
  )
  const known = Object.keys(JSON.parse(text).components.schemas)
  t.same(
    refs.filter((name) => !known.includes(name ?? '')),
    [],
  )
  t.notMatch(text, /\$defs/)
  t.same(known.sort(), [
    'Bills',
    'BindOutcome',
    'BindRequest',
    'BindResult',
    'Change',
    'ChangedSpan',
    'Changes',
    'Customer',
    'CustomerSite',
    'ErrorModel',
    'LoginResult',
    'Meter',
    'PointCost',
    'Progress',
    'ProjectedBill',
    'Pushed',
    'Receipt',
    'Uploaded',
    'Usage',
    'UsagePoint',
    'WrongRequest',
  ])
})

t.test('it promises what the gateway answers by this profile', async (t) => {
  const full = toOpenApi(usual)
  t.notMatch(JSON.stringify(full), '"additionalProperties":false', 'answers may get new fields')
  const fields = [
    'externalSiteId',
    'isPrimary',
    'address1',
    'city',
    'state',
    'postalCode',
    'meters',
  ]
  t.match(full, { components: { schemas: { CustomerSite: { required: fields } } } })
  const launch = toOpenApi({ ...usual, required: 'launchMinimum' })
  const least = ['externalSiteId', 'postalCode', 'meters']
  t.match(launch, { components: { schemas: { CustomerSite: { required: least } } } })
  const answersOf = (more: Partial<OpenApiOptions>, path: string, method: string) => {
    const { paths } = toOpenApi({ ...usual, ...more }) as { paths: Record<string, object> }
    return (paths[path] as Record<string, { responses: object }>)[method]?.responses
  }
  const content = { 'application/json': { schema: { $ref: /WrongRequest$/ } } }
  const status = { errorStyle: 'status' } as const
  t.match(answersOf(status, '/usage', 'post'), { 400: { content }, 413: { content } })
  t.match(answersOf(status, '/gateway/usage', 'get'), { 400: { content } })
  t.match(answersOf(status, '/gateway/bind', 'post'), { 400: { content: undefined } })
  const usage = (more: Partial<OpenApiOptions>) => answersOf(more, '/gateway/usage', 'get')
  t.match(usage({}), { 404: { description: 'The customer has no such meter; no body' } })
  const coded = { content: { 'application/json': { schema: { $ref: /ErrorModel$/ } } } }
  t.match(usage({ unknownStatus: 404 }), {
    404: { ...coded, description: /errorCode 1: no account/ },
  })
  t.match(usage(status), { 404: { content: undefined, description: /Refused: no account/ } })
})

t.test('the page for people loads nothing from anywhere', async (t) => {
  const page = renderApiReference(toOpenApi(usual))
  t.match(page, /POST \/v1\/gateway\/login/)
  t.match(page, /PUT \/v1\/files\/\{name\}/)
  t.match(page, 'GET /espi/1_1/resource/Subscription/{subscriptionId}')
  t.match(page, /Authentication: Authorization: Bearer with the customer's token; body: none/)
  t.match(page, /a client certificate and Authorization: Basic .*; body: <a href="#BindRequest">/)
  t.match(page, /<h3 id="BindRequest">BindRequest<\/h3><pre>\{\n {2}&quot;type&quot;: &quot;object/)
  t.notMatch(page, /<script|https?:\/\/|src=|@import/)
})

t.test('a version that ends says so, 90 days ahead at least', async (t) => {
  const gateway = (version: object) =>
    parseProfile({
      companyCodes: ['DEMO'],
      timeZone: 'America/Detroit',
      gateway: { listen: { port: 1 }, versions: [{ name: 'v1', ...version }, { name: 'v2' }] },
      identity: {
        kind: 'oidc',
        claim: 'sub',
        issuers: [{ issuer: 'https://idp.example.com', audience: 'a' }],
      },
      cis: { kind: 'rest', url: 'https://cis.example.com' },
    }).gateway?.versions ?? []
  const ending = { deprecatedOn: '2026-06-01', sunsetOn: '2026-08-30' }
  t.same(versionHeaders(gateway(ending)).get('v1'), [
    ['Deprecation', '@1780272000'],
    ['Sunset', 'Sun, 30 Aug 2026 00:00:00 GMT'],
  ])
  t.same(versionHeaders(gateway(ending)).get('v2'), [])
  const early = /gateway\.versions\[0\]\.sunsetOn: .*90 days/
  t.throws(() => gateway({ ...ending, sunsetOn: '2026-08-29' }), { message: early })
  t.throws(() => gateway({ sunsetOn: '2026-08-29' }), { message: early })
})
