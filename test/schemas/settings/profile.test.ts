import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../schemas/fault.js'
import { parseProfile, secretReference, sourceName } from '../../../schemas/settings/profile.js'
import { sampled } from '../sampled.js'

const least = { companyCodes: ['ILPC'], timeZone: 'America/Detroit' }

/** The problems of a profile, one a line; none where it is taken. */
function problems(value: unknown): readonly string[] {
  try {
    parseProfile(value)
    return []
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'PROFILE') throw error
    return error.message.replace('PROFILE: ', '').split('\n')
  }
}

const folderDefaults = {
  pollSeconds: 5,
  settlePolls: 2,
  ended: 'take',
  endedFolder: 'ended',
  receipts: false,
}

test('companies and zone are enough: everything else has the documented default', async (t) => {
  t.strictSame(parseProfile(least), {
    ...least,
    fileNames: [],
    database: 'tieline',
    store: { durability: 'majority' },
    ingestion: 'full',
    usage: {
      dateOrder: 'MDY',
      stamp: 'start',
      clock: 'wall',
      intervals: { Electric: [900, 3_600], Gas: ['day', 3_600] },
      unit: { Electric: 'kWh', Gas: 'ccf' },
      negative: { Electric: true, Gas: false },
      estimates: 'yield',
      quantityMax: 999_999_999,
      futureHours: 24,
      rejectedShareMax: 0.01,
      holdDays: 60,
      lateAfterHours: 36,
      format: { Electric: { name: 'tieline' }, Gas: { name: 'tieline' } },
    },
    billing: {
      rounding: 'line',
      untaxed: [],
      monthDays: 30,
      prorateMonths: 'odd',
      presentShareMin: 0.6,
      tierScope: 'meter',
      tierLimitRounding: 'none',
      quietMinutes: 10,
      daysBackMax: 400,
      dailyHour: 8,
      periodClock: 'wall',
    },
    files: {
      format: { Billing: { name: 'tieline' } },
      lastLineEnd: 'auto',
      extraColumns: 'refuse',
      ignore: [],
    },
    rates: { quietMinutes: 10 },
    termination: { graceDays: 30 },
    worker: { operations: { host: '127.0.0.1', certificateSeconds: 10, clients: [] } },
    sources: [{ kind: 'folder', name: 'inbox', path: 'inbox', ...folderDefaults }],
    limits: {
      fileBytesMax: 107_374_182_400,
      rowBytesMax: 65_536,
      ratioMax: 200,
      chunkBytes: 67_108_864,
      attemptsMax: 5,
      freeDiskBytesMin: 1_073_741_824,
    },
    retention: { archiveDays: 400, stagingDays: 1, rejectsDays: 400, billRuns: 3 },
    errorStyle: 'table',
    closedStatuses: ['F', 'L', 'C', 'Z', 'S', 'X', 'U'],
    login: { unknown: 401 },
  })
})

test('what is written stands, what is not written keeps its default', async (t) => {
  const profile = parseProfile({
    ...least,
    usage: { negative: { Gas: true }, intervals: { Electric: ['day', 300] } },
    sources: [{ kind: 'folder', name: 'inbox', path: '/srv/in' }],
    limits: { fileBytesMax: '1 GB', chunkBytes: 8_388_608 },
  })
  t.same(profile.usage.negative, { Electric: true, Gas: true })
  t.same(profile.usage.intervals, { Electric: ['day', 300], Gas: ['day', 3_600] })
  t.equal(profile.usage.dateOrder, 'MDY')
  t.same(profile.sources, [{ kind: 'folder', name: 'inbox', path: '/srv/in', ...folderDefaults }])
  t.equal(profile.limits.fileBytesMax, 1_073_741_824)
  t.equal(profile.limits.chunkBytes, 8_388_608)
})

test('every problem is reported at once, each with its path and remedy', async (t) => {
  const folder = { kind: 'folder', name: 'in', path: '/in' }
  const zoneProblem =
    'unknown zone "America/Detriot": use an IANA name such as America/Detroit, spelled so'
  const always = Object.keys(parseProfile(least))
  const optional = ['alerts', 'gateway', 'identity', 'cis', 'ami', 'bind', 'intake', 'reads']
  const sections = always
    .toSpliced(always.indexOf('worker') + 1, 0, ...optional)
    .toSpliced(always.indexOf('worker'), 0, 'backfill')
  const found = problems({
    companyCodes: [123, 'A', 'A', 'B-C'],
    timeZone: 'America/Detriot',
    database: 'system',
    ingestion: 'some',
    usage: { intervals: { Electric: [7, 86_400], Gas: [] }, unit: { Gas: 'Dth' }, negative: 1 },
    sources: [
      { kind: 'pigeon' },
      { ...folder, pollSeconds: 0 },
      folder,
      { ...folder, name: 'a:b' },
    ],
    limits: { rowBytesMax: '64 XB', chunkBytes: '1 KB' },
    retention: null,
    retentions: {},
  })
  t.same(found, [
    'companyCodes[0]: write a text, in quotes if it looks like a number',
    'companyCodes[3]: use 1 to 32 letters and digits',
    'companyCodes: name each company code once',
    `timeZone: ${zoneProblem}`,
    "database: choose a name that is not one of ClickHouse's own",
    'ingestion: use full or registered or backfill',
    'usage.intervals.Electric[0]: use day, or seconds that divide an hour: 60 to 3600',
    'usage.intervals.Electric[1]: use day, or seconds that divide an hour: 60 to 3600',
    'usage.intervals.Gas: name at least one interval',
    'usage.unit.Gas: use ccf or cm or therm',
    'usage.negative: write a section of settings',
    'sources[0].kind: use folder or sftp or ftp or s3',
    'sources[1].pollSeconds: use at least 1',
    'sources[3].name: use up to 63 letters, digits, - and _',
    'sources: give every source a name of its own',
    'limits.rowBytesMax: write a whole number of bytes, or a size such as 64 KB or 100 GB',
    'limits.chunkBytes: use 1 MB to 128 MB',
    'retention: write a section of settings',
    `top level: unknown retentions: remove it or correct its name; known are ${sections.join(', ')}`,
  ])
})

test('a source has a folder of its own, which is none of those that Tieline keeps', async (t) => {
  const sources = (...paths: readonly string[]) =>
    paths.map((path, index) => ({ kind: 'folder', name: `s${index}`, path }))
  const found = (...paths: readonly string[]) => problems({ ...least, sources: sources(...paths) })
  t.same(found('inbox', 'inbox/gas', '/srv/in', '../in', '/archive'), [])
  t.same(found('inbox', './inbox/', '/srv/a/../in', '/srv//in'), [
    'sources[1].path: ./inbox/ of source s1 is the folder of source s0 too (inbox); give each source its own',
    'sources[3].path: /srv//in of source s3 is the folder of source s2 too (/srv/a/../in); give each source its own',
  ])
  for (const path of ['archive', 'quarantine/', './outbox/x', 'a/../landing', 'logs'])
    t.match(found(path), [`sources[0].path: ${path} of source s0 lies in `], path)
  t.match(found('.'), ['sources[0].path: . of source s0 is the data folder itself'])
})

test('a profile is a map of settings, and two of them are always asked for', async (t) => {
  for (const value of [null, undefined, 'a', 7, []])
    t.match(problems(value), [/^top level: (missing: )?write a section/], String(value))
  t.match(problems({}), [/^companyCodes: missing/, /^timeZone: missing/])
  t.match(problems({ ...least, companyCodes: [] }), [
    'companyCodes: name at least one company code',
  ])
})

test('a database name is safe to stand unquoted in SQL', async (t) => {
  for (const name of ['tieline', 'tieline_staging', '_x1', 'Utility'])
    t.same(problems({ ...least, database: name }), [], name)
  for (const name of [
    '1a',
    'a-b',
    'a b',
    'a`b',
    'a;b',
    '',
    'ü',
    'x'.repeat(64),
    'default',
    'SYSTEM',
  ])
    t.match(problems({ ...least, database: name }), [/^database: /], name)
})

test('a secret is named by its file or variable, never written', async (t) => {
  for (const good of [{ file: '/run/secrets/key' }, { env: 'CIS_PASSWORD' }])
    t.same(secretReference.parse(good), good)
  for (const bad of ['hunter2', {}, { file: 'a', env: 'B' }, { file: '' }, { env: 'a b' }, null]) {
    const message = secretReference.safeParse(bad).error?.issues[0]?.message ?? ''
    t.match(message, '{ file: <path> } or { env: <NAME> }', JSON.stringify(bad))
    t.notMatch(message, 'hunter2')
  }
})

test('a source name fits into a job id and a path', async (t) => {
  for (const name of ['in', 'sftp-1', 'A_b', '9']) t.ok(sourceName.safeParse(name).success, name)
  for (const name of ['', '-a', '.a', 'a:b', 'a/b', 'a b', 'x'.repeat(64)])
    t.notOk(sourceName.safeParse(name).success, name)
})

test('whatever is given, a profile is complete or the fault says where to look', async (t) => {
  const keys = [
    'companyCodes',
    'timeZone',
    'database',
    'usage',
    'sources',
    'limits',
    'kind',
    'name',
  ]
  const scalar = fc.constantFrom<unknown>(
    'ILPC',
    'America/Detroit',
    'folder',
    1,
    null,
    true,
    [],
    {},
  )
  const map = (values: fc.Arbitrary<unknown>) =>
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...keys), values), { selector: ([key]) => key })
      .map((entries) => Object.fromEntries(entries))
  const level = fc.oneof(
    scalar,
    map(scalar),
    fc.array(fc.oneof(scalar, map(scalar)), { maxLength: 3 }),
  )
  const value = fc.oneof(
    level,
    map(level),
    map(level).map((some) => ({ ...some, ...least })),
  )
  sampled(
    t,
    fc.property(value, (given) => {
      const found = problems(given)
      if (found.length > 0) return found.every((line) => /^[\w.[\] ]+: \S/.test(line))
      const profile = parseProfile(given)
      return JSON.stringify(parseProfile(profile)) === JSON.stringify(profile)
    }),
  )
})

test('a zone that is not what its name says is refused with the right one', async (t) => {
  const refused = (timeZone: string) => problems({ ...least, timeZone })[0]
  t.match(
    refused('EST'),
    /^timeZone: EST has no daylight time .* use America\/New_York, or America/,
  )
  t.match(refused('GMT'), /use Europe\/London, or UTC/)
  t.match(refused('Etc/GMT-5'), /^timeZone: Etc\/GMT-5 is 5 h ahead of UTC, against its sign/)
  t.match(refused('Etc/GMT+5'), /5 h behind UTC/)
  for (const zone of ['UTC', 'EST5EDT', 'America/Phoenix', 'Etc/UTC', 'toString'])
    t.notMatch(refused(zone), /daylight|sign/, zone)
})

test('a name pattern that misreads the names of files of rows is refused', async (t) => {
  const history = { ingestion: 'backfill', backfill: { url: 'https://mdm.example' } }
  const refused = (like: string, more: object = history) =>
    problems({ ...least, ...more, fileNames: [{ like }] }).filter((one) =>
      one.includes('fileNames'),
    )
  const american = '<CompanyCode>_<MM><DD><YYYY>_<Feed>_<n>'
  t.match(refused(american), [
    /^fileNames\[0\]\.like: it reads names .* ILPC_11122026_Electric_1\.csv/,
  ])
  t.same(refused(american, {}), [], 'without such files it is what the utility says')
  t.same(refused('<CompanyCode>_<MM><DD><YYYY>_<Feed>'), [])
  t.same(refused('<CompanyCode>_<DD><MM><YYYY>_<Feed>_<n>'), [])
})
