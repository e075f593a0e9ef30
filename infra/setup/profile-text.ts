import { toYaml } from '../yaml.js'
import { type Answers, companiesOf } from './questions.js'
import { sourceComments, sourceOf } from './source-address.js'

/** A profile with comments. `path` is where it will be, for the commands in its comments. */
export function profileText(answers: Answers, path: string): string {
  const companies = companiesOf(answers.company ?? '')
  return `# The profile of ${companies.join(', ')}. Check it after each change:
#   tieline doctor --profile ${path}
# Each setting that is not here has a default. infra/profiles/demo.yaml and gateway.yaml in the folder
# of the program show and explain all settings.

# The first part of <CompanyCode>_<DDMMYYYY>_<Feed>.csv. For other names, see fileNames in demo.yaml.
companyCodes: ${toYaml(companies)}

# The local time zone of the meters (IANA name). It cannot change after the database is created.
timeZone: ${toYaml(answers.timeZone)}

# The ClickHouse database. Production and staging are two profiles with two databases.
database: ${toYaml(databaseOf(companies[0] ?? ''))}

# Compare these with a real file: tieline check FILE --profile ${path}
usage:
  dateOrder: MDY # 1/4/2017 is 4 January; DMY makes it 1 April
  clock: wall # times follow daylight saving time; standard: they ignore it
  stamp: start # the time of a row is the start of its interval; or end
  unit: { Electric: kWh, Gas: ccf } # or Wh, cm, therm
  intervals: { Electric: [900, 3600], Gas: [day, 3600] } # allowed lengths, in seconds

${sourcesText(answers)}${answers.issuer ? gatewayText(answers) : noGateway}`
}

const noGateway = `
# Login and customer need the sections gateway, identity and cis; copy them from gateway.yaml.
`

/** ClickHouse's own names and names that begin with a digit are not possible. */
function databaseOf(company: string): string {
  const name = company.toLowerCase()
  const isTaken = /^(\d|system$|default$|information_schema$)/.test(name)
  return isTaken ? `utility_${name}`.slice(0, 63) : name
}

function sourcesText({ source = '', hostKey = '' }: Answers): string {
  const [first, ...lines] = Object.entries(sourceOf(source, hostKey)).map(
    ([name, value]) => `${name}: ${toYaml(value)}`,
  )
  const { kind } = sourceOf(source, hostKey)
  const comments = (sourceComments[String(kind)] ?? []).map((comment) => `    # ${comment}`)
  return [
    '# Where files come from. More kinds are in demo.yaml.',
    'sources:',
    `  - ${first}`,
    ...lines.map((line) => `    ${line}`),
    ...comments,
    '',
  ].join('\n')
}

function gatewayText({ issuer, audience, cis }: Answers): string {
  return `
# Login and customer. This address is for a TLS terminator on this machine. To serve TLS here, set
# host: 0.0.0.0 and tls: { certFile: PATH, keyFile: PATH }. For bind, see mutual in gateway.yaml.
gateway:
  listen: { host: 127.0.0.1, port: 8443 }

# Test with: tieline probe login TOKENFILE. SAML and opaque tokens: see gateway.yaml.
identity:
  kind: oidc
  claim: sub # the claim with the customer's identifier in the CIS
  issuers:
    - issuer: ${toYaml(issuer)} # exactly as in the tokens, with or without / at the end
      audience: ${toYaml(audience)}

# Test with: tieline probe customer CLIENTID. Other field names and PostgreSQL: see gateway.yaml.
cis:
  kind: rest
  url: ${toYaml(cis)}
  customerPath: /customers/{clientId}
  headers:
    Authorization: { env: CIS_AUTHORIZATION } # set this variable; a profile contains no secrets
`
}
