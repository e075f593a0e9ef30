import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import {
  demoProfilePath,
  placeFiles,
  profilePathOf,
  readProfile,
  rememberProfile,
} from '../../../infra/stack/profile-file.js'
import { Fault } from '../../../schemas/fault.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'

const gatewayPath = join(packageRoot(import.meta.url), 'infra/profiles/gateway.yaml')

t.test('the example holds every setting, at its default unless its comment says so', async (t) => {
  const { sources, ...example } = readProfile(demoProfilePath)
  const least = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
  const { sources: usual, ...defaults } = least
  t.same(example, defaults)
  t.match(usual, [{ kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 5 }])
  t.same(sources, [{ ...usual[0], pollSeconds: 1 }])
  const text = [demoProfilePath, gatewayPath].map((path) => readFileSync(path, 'utf8')).join('\n')
  const isThere = (name: string) => new RegExp(`[\\s{]${name}:`).test(text)
  const missing = namesOf(defaults).filter((name) => !isThere(name))
  t.same(missing, [], 'also where leaving it out would come to the same')
})

/** The names of all settings in a section and those within. */
function namesOf(section: object): readonly string[] {
  return Object.entries(section).flatMap(([name, value]) => {
    const isSection = value !== null && typeof value === 'object' && !Array.isArray(value)
    return [name, ...(isSection ? namesOf(value) : [])]
  })
}

t.test('the example of a gateway is one, and says what its defaults are', async (t) => {
  const example = readProfile(gatewayPath)
  const { gateway, cis, ami } = example
  const least = parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    gateway: { listen: gateway?.listen, mutual: gateway?.mutual },
    identity: {
      kind: 'oidc',
      claim: 'sub',
      issuers: example.identity?.kind === 'oidc' ? example.identity.issuers : [],
    },
    cis: {
      kind: 'rest',
      url: cis?.kind === 'rest' && cis.url,
      ...pick(cis, ['headers', 'fields', 'values']),
    },
    ami: { kind: 'rest', ...pick(ami, ['url', 'headers']) },
    bind: pick(example.bind, ['users']),
    reads: {},
  })
  t.same(
    { ...least, gateway: { ...least.gateway, listen: undefined, mutual: undefined } },
    {
      ...example,
      gateway: { ...gateway, listen: undefined, mutual: undefined },
    },
  )
})

const pick = (section: object | undefined, names: readonly string[]) =>
  Object.fromEntries(Object.entries(section ?? {}).filter(([name]) => names.includes(name)))

t.test('a file that is not a profile says in one line what is wrong with it', async (t) => {
  const folder = t.testdir({ 'torn.yaml': 'a: [1', 'list.yaml': '- 1', 'empty.yaml': '' })
  for (const name of ['torn.yaml', 'list.yaml', 'empty.yaml', 'absent.yaml']) {
    t.throws(() => readProfile(join(folder, name)), { code: 'PROFILE' }, name)
  }
})

t.test('a profile that cannot be had is named, with what to do', async (t) => {
  const folder = createFolder(t)
  const at = (name: string) => join(folder, name)
  t.throws(() => readProfile(at('absent.yaml')), {
    message: `PROFILE: ${at('absent.yaml')} does not exist; set --profile, or start with a copy of ${demoProfilePath}`,
  })
  t.throws(() => readProfile(folder), { message: `${folder} is a folder` })
  writeFileSync(at('torn.yaml'), 'a: [1')
  t.throws(() => readProfile(at('torn.yaml')), {
    message: `${at('torn.yaml')} is not valid YAML: `,
  })
  writeFileSync(at('wrong.yaml'), 'companyCodes: [ACME]')
  t.throws(() => readProfile(at('wrong.yaml')), {
    message: `${at('wrong.yaml')} is not valid:\ntimeZone: missing`,
  })
  writeFileSync(at('gone.yaml'), '')
  rememberProfile(folder, at('gone.yaml'))
  rmSync(at('gone.yaml'))
  t.throws(() => profilePathOf(undefined, folder), {
    message: `PROFILE: ${at('gone.yaml')}, the last profile of ${folder}, does not exist`,
  })
  t.equal(profilePathOf(at('wrong.yaml'), folder), at('wrong.yaml'))
})

t.test('only a file that is still there for the next command is remembered', async (t) => {
  const folder = createFolder(t)
  const [file, link, pipe] = [join(folder, 'a.yaml'), join(folder, 'link'), join(folder, 'pipe')]
  writeFileSync(file, '')
  symlinkSync(file, link)
  execFileSync('mkfifo', [pipe])
  rememberProfile(folder, link)
  const read = openSync(file, 'r')
  t.teardown(() => closeSync(read))
  for (const path of ['/dev/null', `/dev/fd/${read}`, `/proc/self/fd/${read}`, pipe]) {
    rememberProfile(folder, path)
    t.equal(profilePathOf(undefined, folder), link, path)
  }
})

t.test('relative paths of files and the socket lie in the data folder', async (t) => {
  const tls = { certFile: 'certificates/server.pem', keyFile: '/etc/tls/server.key' }
  const url = 'https://utility.example.com'
  const caFile = 'certificates/ca.pem'
  const profile = parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    gateway: {
      listen: { tls, socket: 'run/gateway.sock' },
      mutual: { tls: { ...tls, clientCaFile: '../platform-ca.pem', crlFile: 'revoked.pem' } },
    },
    identity: {
      kind: 'saml',
      issuer: 'utility',
      audience: 'tieline',
      recipient: url,
      certFiles: ['idp.pem', '/etc/idp-next.pem'],
    },
    cis: {
      kind: 'rest',
      url,
      caFile,
      headers: { 'X-File': 'customers', 'X-Key': { file: 'cis-key' } },
    },
    ami: { kind: 'rest', url, caFile },
    ingestion: 'backfill',
    backfill: { url, caFile },
  })
  const placed = { certFile: '/srv/data/certificates/server.pem', keyFile: '/etc/tls/server.key' }
  const placedCa = { caFile: '/srv/data/certificates/ca.pem' }
  const { gateway, identity, cis, ami, backfill, sources } = placeFiles(profile, '/srv/data')
  t.same(gateway?.listen?.tls, placed)
  t.equal(gateway?.listen?.socket, '/srv/data/run/gateway.sock')
  const clientFiles = { clientCaFile: '/srv/platform-ca.pem', crlFile: '/srv/data/revoked.pem' }
  t.same(gateway?.mutual?.tls, { ...placed, ...clientFiles })
  const certFiles = ['/srv/data/idp.pem', '/etc/idp-next.pem']
  t.same(identity, { ...profile.identity, certFiles })
  const headers = { 'X-File': 'customers', 'X-Key': { file: '/srv/data/cis-key' } }
  t.same(cis, { ...profile.cis, ...placedCa, headers }, 'a header keeps its value')
  t.same(
    [ami, backfill],
    [
      { ...profile.ami, ...placedCa },
      { ...profile.backfill, ...placedCa },
    ],
  )
  t.same(sources, profile.sources)
})

t.test('each problem of a profile names its line and column', async (t) => {
  const path = join(createFolder(t), 'wrong.yaml')
  const problemsOf = (...lines: readonly string[]) => {
    writeFileSync(path, lines.join('\n'))
    try {
      readProfile(path)
      return []
    } catch (error) {
      return (error instanceof Fault ? error.detail : String(error)).split('\n').slice(1)
    }
  }
  const least = ['companyCodes: [ACME]', 'timeZone: America/Detroit']
  const found = problemsOf(
    'companyCodes: [ACME, "A B"]',
    'timeZone: Mars/Base',
    'usage: # a comment',
    '  dateOrder: YMD',
    '  unti: { Electric: kWh }',
    'sources:',
    '  - { kind: folder, name: inbox, path: inbox }',
    '  - kind: folder',
    '    name: second',
    'limits: 7',
    'gateway: { listen: {} }',
  )
  for (const [index, start] of [
    'companyCodes[1] (line 1, column 22): use 1 to 32',
    'timeZone (line 2, column 11): ',
    'usage.dateOrder (line 4, column 14): use MDY or DMY',
    'usage (line 5, column 3): unknown unti',
    'sources[1].path (line 8, column 5): missing',
    'limits (line 10, column 9): write a section',
  ].entries()) {
    t.equal(found[index]?.slice(0, start.length), start)
  }
  t.match(problemsOf('usage: &u { dateOrder: YMD }', 'billing: *u'), [
    /^companyCodes: missing/,
    /^timeZone: missing/,
    /^usage.dateOrder \(line 1, column 24\): /,
    /^billing \(line 1, column 24\): unknown dateOrder/,
  ])
  const gap = problemsOf(...least, 'gateway:', '  mutualTls: all')
  t.match(gap.join('\n'), /^gateway.mutual \(line 3, column 1\): missing/m)
  t.match(gap.join('\n'), /^cis: missing/m, 'what is nowhere has no place')
  t.match(problemsOf(...least, 'database:'), [/^database \(line 3, column 10\): write a text/])
  t.match(problemsOf('- 1'), [/^top level: /])
  writeFileSync(path, 'a: 1\nb: [1')
  t.throws(() => readProfile(path), { message: /is not valid YAML: .* at line 2, column 6/ })
  writeFileSync(path, 'a: 1\na: 2')
  const twice = /is not valid YAML: a is set twice, the second time at line 2, column 1$/
  t.throws(() => readProfile(path), { message: twice })
  writeFileSync(path, 'companyCodes: [ACME]\ntimeZone: !hush UTC')
  const tag = /^(?!.*hush).* is not valid YAML: unknown tag at line 2, column 11; put a text that/
  t.throws(() => readProfile(path), { message: tag })
})
