import { readFileSync, writeFileSync } from 'node:fs'
import type { Checked } from '../../pipeline/check.js'
import { Fault } from '../../schemas/fault.js'
import { factsOf, type ProposedFeed } from '../propose/feeds.js'
import { judgeSamples, sampleProfile, withSection } from '../propose/judge.js'
import { type Proposal, propose } from '../propose/proposal.js'
import { readSample } from '../propose/sample.js'
import { renderSection, toSection } from '../propose/section.js'
import { readProfile } from '../stack/profile-file.js'
import { parseYaml } from '../yaml.js'
import { type Context, exitCodes } from './context.js'
import { renderChecked } from './output/receipts.js'

export interface ProposeOptions {
  /** `setting=value`, as YAML. */
  readonly answer: readonly string[]
  readonly timeZone?: string
  readonly commodity?: string
  /** File for the section; standard output has it too. */
  readonly out?: string
  readonly json: boolean
}

/**
 * Proposes the section of a profile for sample files, with its evidence and open questions. Where nothing is
 * open, the samples are judged by it. The exit code is 2 while a question is open or a file would be
 * quarantined or have rejected rows.
 */
export async function proposeCommand(
  context: Context,
  paths: readonly string[],
  options: ProposeOptions,
): Promise<number> {
  const samples = await Promise.all(paths.map(readSample))
  const base = context.profilePath === undefined ? undefined : baseOf(context.profilePath)
  const answers = answersOf(options)
  const proposal = propose(samples, { answers, timeZone: base?.timeZone })
  const section = renderSection(proposal)
  const open = proposal.findings.filter(({ question }) => question !== undefined)
  if (options.out !== undefined) write(options.out, section)
  if (!options.json) context.print(renderProposal(proposal, section))
  const { feed } = proposal
  const checked =
    open.length > 0 || feed === undefined
      ? undefined
      : await judgeSamples(samples, {
          profile: withSection(base?.settings ?? sampleProfile, toSection(proposal)),
          feed,
          ending: context.ending,
        })
  if (options.json) {
    const result = { section, ...proposal, checked: checked ?? null }
    context.print(JSON.stringify(result, undefined, 2))
  } else if (checked !== undefined && feed !== undefined) context.print(renderJudged(checked, feed))
  const isGood = checked?.every(({ receipt }) => isClean(receipt)) === true
  return isGood ? exitCodes.good : exitCodes.quarantined
}

export function isClean({ status, rows }: Checked['receipt']): boolean {
  return status === 'published' && rows.rejected === 0
}

/** The settings of a profile as they are written. */
export function baseOf(path: string): { readonly settings: unknown; readonly timeZone: string } {
  const { timeZone } = readProfile(path)
  return { settings: parseYaml(readFileSync(path, 'utf8')), timeZone }
}

/** Throws `CONFIG` for what is not `setting=value`. */
export function answersOf({
  answer,
  timeZone,
  commodity,
}: Pick<ProposeOptions, 'answer' | 'timeZone' | 'commodity'>): ReadonlyMap<string, string> {
  const answers = new Map<string, string>()
  if (timeZone !== undefined) answers.set('/timeZone', timeZone)
  if (commodity !== undefined) answers.set('/commodity', commodity)
  for (const one of answer) {
    const at = one.indexOf('=')
    if (at < 1) throw new Fault('CONFIG', `--answer ${one}: write it as setting=value`)
    answers.set(one.slice(0, at), one.slice(at + 1))
  }
  return answers
}

function write(path: string, section: string): void {
  try {
    writeFileSync(path, section, { flag: 'wx' })
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    const remedy =
      code === 'EEXIST' ? 'it is never overwritten; name a new file' : 'name another file'
    throw new Fault('CONFIG', `${path} cannot be written (${code}); ${remedy}`, { cause })
  }
}

export function renderProposal({ findings, notes }: Proposal, section: string): string {
  const open = findings.filter(({ question }) => question !== undefined)
  const flagOf = (setting: string) =>
    setting === '/timeZone'
      ? '--time-zone'
      : setting === '/commodity'
        ? '--commodity'
        : `--answer ${setting}=`
  const questions = open.map(
    ({ setting, evidence, question }) => `  ${flagOf(setting)}\n    ${question}\n    (${evidence})`,
  )
  const heading = `${open.length} ${open.length === 1 ? 'question is' : 'questions are'} open; "?" makes the profile invalid until it is answered:`
  return [
    section,
    ...(notes.length > 0 ? ['Notes:', ...notes.map((note) => `  ${note}`), ''] : []),
    ...(open.length > 0 ? [heading, ...questions] : ['No question is open.', '']),
  ].join('\n')
}

export function renderJudged(checked: readonly Checked[], feed: ProposedFeed): string {
  const totals = checked.map(
    ({ receipt }) => `${receipt.fileName}: ${factsOf(feed).totals(receipt)}`,
  )
  return [
    'The samples, judged by this proposal:',
    renderChecked(checked),
    '',
    'Compare these totals with those of the system that the files are from:',
    ...totals.map((line) => `  ${line}`),
  ].join('\n')
}
