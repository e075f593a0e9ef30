import { toYaml, type WrittenSetting } from '../yaml.js'
import { factsOf } from './feeds.js'
import type { SettingFinding } from './finding.js'
import type { Proposal } from './proposal.js'

/** The value of what a person must answer; it is not valid for any setting. */
const open = '?'

/** A setting of the profile, by its path. */
interface Placed {
  readonly path: readonly string[]
  readonly value: unknown
  readonly finding: SettingFinding | undefined
}

/** What of a finding is a setting of the profile; undefined where a person has left it out. */
function place(finding: SettingFinding, proposal: Proposal): Placed | undefined {
  const { format } = proposal
  const feed = proposal.feed ?? open
  const { setting, question } = finding
  const value = question === undefined ? finding.value : open
  const at = (...path: readonly string[]) => ({ path, value, finding })
  if (value === null || setting === '/commodity') return undefined
  if (setting === '/timeZone') return at('timeZone')
  // Billed periods have the units of reads.
  if (setting.startsWith('/'))
    return at('usage', setting.slice(1), feed === 'Billing' ? 'Gas' : feed)
  if (format !== 'tieline') return at(...formatPath(proposal), ...setting.split('.'))
  if (setting === 'unit') return at('usage', 'unit', feed)
  return setting === 'interval' ? undefined : at('usage', setting)
}

/** Where the profile has the format of the files. */
function formatPath({ feed }: Proposal): readonly string[] {
  return [feed === undefined ? 'usage' : factsOf(feed).section, 'format', feed ?? open]
}

function allPlaced(proposal: Proposal): readonly Placed[] {
  const { format, findings } = proposal
  const placed = findings.flatMap((finding) => place(finding, proposal) ?? [])
  const zone = placed.filter(({ path }) => path[0] === 'timeZone')
  const others = placed.filter(({ path }) => path[0] !== 'timeZone')
  if (format === 'tieline') return [...zone, ...others]
  const name = {
    path: [...formatPath(proposal), 'name'],
    value: format,
    finding: undefined,
  }
  return [...zone, name, ...others]
}

/** The settings of the profile with their evidence, none of them open. */
export function toSettings(proposal: Proposal): readonly WrittenSetting[] {
  return allPlaced(proposal).map(({ path, value, finding }) => ({
    path,
    value,
    comment: finding?.evidence ?? '',
  }))
}

type Section = { [name: string]: unknown }

/** The proposal as a part of a profile. */
export function toSection(proposal: Proposal): Readonly<Section> {
  const section: Section = {}
  for (const { path, value } of allPlaced(proposal)) {
    let part = section
    for (const name of path.slice(0, -1)) {
      part[name] ??= {}
      part = part[name] as Section
    }
    part[path.at(-1) as string] = value
  }
  return section
}

/** The proposal as YAML, with the evidence of each setting beside it. */
export function renderSection(proposal: Proposal): string {
  const findings = new Map(allPlaced(proposal).map((one) => [one.path.join('\0'), one.finding]))
  const lines: string[] = []
  const write = (part: Section, path: readonly string[]) => {
    for (const [name, value] of Object.entries(part)) {
      const own = [...path, name]
      const indent = '  '.repeat(path.length)
      if (findings.has(own.join('\0'))) {
        lines.push(
          `${indent}${toYaml(name)}: ${toYaml(value)}${commentOf(findings.get(own.join('\0')))}`,
        )
      } else {
        lines.push(`${indent}${toYaml(name)}:`)
        write(value as Section, own)
      }
    }
  }
  write(toSection(proposal), [])
  return `${lines.join('\n')}\n`
}

function commentOf(finding: SettingFinding | undefined): string {
  if (finding === undefined) return ''
  const text = finding.question === undefined ? finding.evidence : `QUESTION: ${finding.question}`
  return ` # ${text.replace(/\p{C}/gu, '?')}`
}
