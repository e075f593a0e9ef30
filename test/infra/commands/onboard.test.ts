import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readProfile } from '../../../infra/stack/profile-file.js'
import { createFolder } from '../../rig/folder.js'
import { tieline } from '../command-line.js'

const rows = Array.from({ length: 96 }, (_, at) => {
  const time = `${String(Math.floor(at / 4)).padStart(2, '0')}:${String((at % 4) * 15).padStart(2, '0')}`
  return `M1;13/01/2026;${time};0,${100 + ((at * 37) % 96)}`
})
const file = ['Meter;Date;Start;Usage kWh', ...rows, ''].join('\n')

t.test(
  'a utility comes on board in several runs, and each goes on where the last one ended',
  async (t) => {
    const folder = createFolder(t)
    const [sample, profile, home] = ['mdm-20260114.csv', 'acme.yaml', 'data'].map((name) =>
      join(folder, name),
    ) as [string, string, string]
    writeFileSync(sample, file)
    const at = ['--profile', profile, '--home', home]
    const begun = await tieline(
      'onboard',
      sample,
      ...at,
      '--company',
      'ACME',
      '--time-zone',
      'America/Detroit',
    )
    t.equal(begun.code, 2, begun.stderr)
    t.match(begun.stdout, /Step 2 of 4[\s\S]*1 question is open[\s\S]*--answer clock=/)
    t.notOk(existsSync(home), 'nothing is loaded before the questions are answered')
    t.notMatch(readFileSync(profile, 'utf8'), /name: csv/)
    const ended = await tieline('onboard', sample, ...at, '--answer', 'clock=wall')
    t.equal(ended.code, 0, ended.stderr + ended.stdout)
    t.match(ended.stdout, /rows +96 +96 +✓[\s\S]*sum +14\.16 +14\.16 +✓[\s\S]*meters +1 +1 +✓/)
    t.match(
      ended.stdout,
      /Names such as mdm-20260114\.csv need a pattern .*\n.*\n.*like: mdm-<YYYY><MM><DD>, feed: Electric/,
    )
    const settings = { name: 'csv', delimiter: ';', clock: 'wall', stamp: 'start' }
    t.match(readProfile(profile).usage.format.Electric, settings)
    t.match(readFileSync(profile, 'utf8'), /# The local time zone of the meters/, 'comments stay')
    const again = await tieline('onboard', sample, ...at)
    t.match(again, { code: 0 }, 'the answers are kept')
    const staging = () => readdirSync(folder).filter((name) => name.startsWith('data-staging-'))
    t.equal(staging().length, 1, 'the same settings have the same staging database')
    const other = await tieline('onboard', sample, ...at, '--answer', 'clock=standard')
    t.equal(other.code, 0)
    t.equal(staging().length, 2, 'other settings are not mixed with those before')
  },
)

t.test('what cannot be loaded is said, and the profile stays as it is', async (t) => {
  const folder = createFolder(t)
  const [sample, profile] = ['export.csv', 'acme.yaml'].map((name) => join(folder, name)) as [
    string,
    string,
  ]
  writeFileSync(sample, file.replace(/10:00;0,\d+/, '10:00;none'))
  const at = ['--profile', profile, '--home', join(folder, 'data')]
  const company = ['--company', 'ACME', '--time-zone', 'America/Detroit']
  const refused = await tieline('onboard', sample, ...at, ...company, '--answer', 'clock=wall')
  t.equal(refused.code, 2, refused.stderr)
  t.match(refused.stdout, /NOT_A_NUMBER[\s\S]*Rows are rejected/)
  t.notMatch(readFileSync(profile, 'utf8'), /name: csv/)
  const unnamed = await tieline('onboard', sample, '--home', join(folder, 'data'))
  t.match([unnamed.code, unnamed.stderr], [1, /set --profile/])
})
