import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { readProfile } from '../../../infra/stack/profile-file.js'
import { createFolder } from '../../rig/folder.js'
import { program, type Run, tieline } from '../command-line.js'

const least = ['--company', 'ACME', '--time-zone', 'America/Detroit']
const hostKey = `SHA256:${'k'.repeat(43)}`
const issuer = 'https://login.example.com/realms/acme'

t.test('flags make a profile, which doctor checks', async (t) => {
  const folder = createFolder(t)
  const profile = join(folder, 'acme.yaml')
  const at = ['--profile', profile, '--home', join(folder, 'data')]
  const made = await tieline('init', ...least, ...at)
  t.match(made, { code: 0, stdout: `wrote ${profile}\n`, stderr: '' })
  t.match(made.stdout, /✓ profile +\S+acme\.yaml: ACME, America\/Detroit, acme\n/)
  t.match(readProfile(profile), {
    companyCodes: ['ACME'],
    database: 'acme',
    sources: [{ kind: 'folder', path: 'inbox' }],
    gateway: undefined,
  })
  t.match(readFileSync(profile, 'utf8'), /^ {2}dateOrder: MDY # 1\/4\/2017 is 4 January/m)
  const before = readFileSync(profile, 'utf8')
  const again = await tieline('init', '--company', 'OTHER', '--time-zone', 'UTC', ...at)
  t.match(again, { code: 1, stdout: '', stderr: `CONFIG: ${profile} exists; it is never` })
  t.equal(readFileSync(profile, 'utf8'), before)
})

t.test('each kind of source and the gateway become sections of the profile', async (t) => {
  const folder = createFolder(t)
  const made = async (name: string, ...flags: readonly string[]) => {
    const profile = join(folder, `${name}.yaml`)
    const at = ['--profile', profile, '--home', join(folder, 'data')]
    t.match((await tieline('init', ...at, ...flags)).stdout, 'wrote ')
    return readProfile(profile)
  }
  const sftp = ['--source', 'sftp://ann%40x@[::1]:1/out%20going', '--host-key', hostKey]
  const gateway = ['--issuer', issuer, '--cis', 'https://cis.example.com/api']
  t.match(await made('whole', ...least, ...sftp, ...gateway), {
    sources: [
      {
        kind: 'sftp',
        host: '::1',
        port: 1,
        user: 'ann@x',
        path: '/out going',
        hostKeys: [hostKey],
      },
    ],
    identity: { kind: 'oidc', issuers: [{ issuer, audience: ['tieline'] }] },
    cis: { kind: 'rest', url: 'https://cis.example.com/api' },
    gateway: { listen: { host: '127.0.0.1' } },
  })
  const odd = ['--company', '1E5,NO', '--time-zone', 'UTC']
  t.match(await made('ftp', ...odd, '--source', 'ftp://ann@127.0.0.1:1/a#b: c'), {
    companyCodes: ['1E5', 'NO'],
    database: 'utility_1e5',
    sources: [{ kind: 'ftp', host: '127.0.0.1', user: 'ann', path: '/a' }],
  })
  t.match(await made('folder', ...least, '--source', 'in: #1'), { sources: [{ path: 'in: #1' }] })
})

t.test('a prefix of S3 without / at its end is refused', async (t) => {
  const folder = createFolder(t)
  const profile = join(folder, 'acme.yaml')
  const bucket = ['--source', 's3://127.0.0.1/out']
  const at = ['--profile', profile, '--home', join(folder, 'data')]
  const wrong = await tieline('init', ...least, ...bucket, ...at)
  t.match(wrong, { code: 1, stderr: 'sources[0].prefix: end it with /' })
  t.notOk(existsSync(profile))
})

t.test('a wrong flag is named with its value and the remedy, and nothing is written', async (t) => {
  const folder = createFolder(t)
  const profile = join(folder, 'acme.yaml')
  const rows: readonly (readonly [flags: readonly string[], stderr: string | RegExp])[] = [
    [['--company', 'ACME'], /CONFIG: --time-zone is missing: set it, or .*America\/Detroit/],
    [['--company', 'A B', '--time-zone', 'UTC'], /--company "A B" is not valid: .*use 1 to 32/],
    [['--company', 'ACME', '--time-zone', 'Mars/Base'], /--time-zone "Mars\/Base" is not valid: /],
    [[...least, '--source', 'http://x'], /--source "http:\/\/x" is not valid: use a folder, sftp/],
    [[...least, '--source', 'ftp://u@h/%zz'], /is not valid: write % as %25/],
    [[...least, '--source', 'sftp://u@h/out'], /--host-key is missing: .*ssh-keyscan/],
    [[...least, '--host-key', hostKey], /--host-key is for --source sftp:\/\/.*: set that too, or/],
    [[...least, '--issuer', issuer], '--cis is missing'],
    [[...least, '--cis', issuer], '--cis is for --issuer: set that too, or leave --cis out'],
    [[...least, '--issuer', 'http://x.example', '--cis', issuer], /--issuer .*: use https, or/],
    [['--company', 'ACME', '--time-zone', ''], '--time-zone "" is not valid'],
  ]
  for (const [flags, stderr] of rows) {
    const run = await tieline('init', ...flags, '--profile', profile)
    t.match(run, { code: 1, stdout: '', stderr }, flags.join(' '))
  }
  const secret = ['--source', 'sftp://ann:canary7f3a@h/out', '--host-key', hostKey]
  const refused = await tieline('init', ...least, ...secret, '--profile', profile)
  t.match(refused, { code: 1, stderr: /leave the password out of it/ })
  t.notMatch(refused.stderr, /canary/)
  t.notOk(existsSync(profile))
  const nowhere = await tieline('init', ...least, '--profile', join(folder, 'none', 'a.yaml'))
  t.match(nowhere, { code: 1, stderr: /none\/a\.yaml cannot be written \(ENOENT\); set --profile/ })
})

/** Runs `tieline init` on a terminal; each answer is written when its question is there. */
async function onTerminal(
  folder: string,
  flags: readonly string[],
  answers: readonly (readonly [question: RegExp, answer: string])[],
): Promise<Pick<Run, 'code' | 'stdout'>> {
  const command = [process.execPath, program, 'init', ...flags].join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder })
  let stdout = ''
  let asked = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    const [question, answer] = answers[asked] ?? []
    if (question === undefined || !question.test(stdout.slice(stdout.lastIndexOf('\n') + 1))) return
    asked += 1
    child.stdin.write(answer)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout }
}

t.test('on a terminal it asks for what is missing, until the answer is good', async (t) => {
  const folder = createFolder(t)
  const run = await onTerminal(
    folder,
    ['--time-zone', 'America/Detroit'],
    [
      [/Company code.*: $/, 'A B\n'],
      [/Company code.*: $/, 'ACME\n'],
      [/Where files come from.*\[inbox\]: $/, '\n'],
      [/Issuer .*: $/, `${issuer}\n`],
      [/Audience .*\[tieline\]: $/, 'own\n'],
      [/Address of the CIS.*: $/, '\n'],
      [/Address of the CIS.*: $/, 'https://cis.example.com\n'],
    ],
  )
  // The provider of the example does not exist.
  t.match(run, { code: 1, stdout: /companyCodes\[0\]: use 1 to 32 letters and digits/ }, run.stdout)
  t.match(run.stdout, /cis\.url: use an address such as/)
  t.match(readProfile(join(folder, 'acme.yaml')), {
    companyCodes: ['ACME'],
    identity: { issuers: [{ issuer, audience: ['own'] }] },
    cis: { url: 'https://cis.example.com' },
  })
})

t.test(
  'on a terminal it asks nothing if the flags suffice, and Ctrl-C writes nothing',
  async (t) => {
    const folder = createFolder(t)
    t.match(await onTerminal(folder, least, []), { code: 0, stdout: /wrote .*acme\.yaml/ })
    writeFileSync(join(folder, 'new.yaml'), '')
    const ended = await onTerminal(
      folder,
      ['--profile', 'other.yaml'],
      [[/Company.*: $/, '\u0003']],
    )
    t.equal(ended.code, 130)
    t.notOk(existsSync(join(folder, 'other.yaml')))
    const closed = await onTerminal(
      folder,
      ['--profile', 'other.yaml'],
      [[/Company.*: $/, '\u0004']],
    )
    t.match(closed, { code: 1, stdout: /--company is missing: the input has ended/ })
  },
)
