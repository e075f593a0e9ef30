import { existsSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Fault } from '../../schemas/fault.js'
import { profileText } from '../setup/profile-text.js'
import {
  type Answers,
  companiesOf,
  problemOf,
  type Question,
  questions,
} from '../setup/questions.js'
import type { Context } from './context.js'
import { doctor } from './doctor.js'

/** Asks a question on the terminal; undefined at the end of the input. */
export type Ask = (text: string) => Promise<string | undefined>

/**
 * Writes a profile from flags and from answers on the terminal, then runs `doctor` on it. Asks nothing
 * if the flags suffice or standard input is not a terminal. Never overwrites a file. The exit code is
 * that of `doctor`.
 */
export async function init(context: Context, flags: Answers): Promise<number> {
  if (context.profilePath !== undefined) refuseExisting(context.profilePath)
  refuseUnused(flags)
  const isAsked = process.stdin.isTTY === true && missingOf(flags) !== undefined
  const answers = isAsked
    ? await onTerminal(context, (ask) => answer(context, flags, ask))
    : await answer(context, flags)
  const [company = ''] = companiesOf(answers.company ?? '')
  const path = context.profilePath ?? `${company.toLowerCase()}.yaml`
  write(path, profileText(answers, path))
  context.print(`wrote ${resolve(path)}\n`)
  return doctor({ ...context, profilePath: path })
}

/** The first question without an answer. */
function missingOf(flags: Answers): Question | undefined {
  return questions.find(
    ({ name, usual, after }) =>
      usual === undefined && after?.isSet(flags) !== false && flags[name] === undefined,
  )
}

/** A flag whose question does not arise would be lost in silence. */
function refuseUnused(flags: Answers): void {
  for (const { name, flag, after } of questions) {
    if (flags[name] === undefined || after?.isSet(flags) !== false) continue
    throw new Fault('CONFIG', `${flag} is for ${after.what}: set that too, or leave ${flag} out`)
  }
}

async function answer(context: Context, flags: Answers, ask?: Ask): Promise<Answers> {
  let answers: Answers = {}
  for (const question of questions) {
    if (question.after?.isSet(answers) === false) continue
    const given = flags[question.name]
    if (given !== undefined) refuseWrong(question, given)
    const value = given ?? (await (ask ? asked(context, question, ask) : usualOf(question)))
    answers = { ...answers, [question.name]: value }
  }
  return answers
}

function refuseWrong(question: Question, given: string): void {
  const problem = problemOf(question, given)
  if (problem === undefined) return
  const shown = JSON.stringify(given.replace(/\/\/[^/]*@/, '//...@'))
  throw new Fault('CONFIG', `${question.flag} ${shown} is not valid: ${problem}`)
}

function usualOf({ flag, text, usual }: Question): string {
  if (usual !== undefined) return usual
  throw new Fault(
    'CONFIG',
    `${flag} is missing: set it, or run tieline init on a terminal. ${text}`,
  )
}

/** Asks until the answer is good. */
async function asked(context: Context, question: Question, ask: Ask): Promise<string> {
  const { flag, text, usual } = question
  for (;;) {
    const line = await ask(usual ? `${text} [${usual}]: ` : `${text}: `)
    if (line === undefined) {
      throw new Fault('CONFIG', `${flag} is missing: the input has ended; set the flag`)
    }
    const value = line.trim() || usual || ''
    const problem = problemOf(question, value)
    if (problem === undefined) return value
    context.say(`  ${problem}`)
  }
}

/** Lines that arrive before their question, pasted for example, are kept. */
export async function onTerminal<T>(
  { ending }: Pick<Context, 'ending'>,
  use: (ask: Ask) => Promise<T>,
): Promise<T> {
  const lines = createInterface({ input: process.stdin, terminal: false, signal: ending })
  const reader = lines[Symbol.asyncIterator]()
  try {
    return await use(async (text) => {
      process.stderr.write(text)
      const { done, value } = await reader.next()
      return done ? undefined : value
    })
  } finally {
    lines.close()
  }
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EEXIST') refuseExisting(path)
    const remedy = 'set --profile to a file in a folder that exists and is writable'
    throw new Fault('CONFIG', `${resolve(path)} cannot be written (${code}); ${remedy}`, { cause })
  }
}

function refuseExisting(path: string): void {
  if (!existsSync(path)) return
  const remedy = 'it is never overwritten; move it away, or set --profile to a new file'
  throw new Fault('CONFIG', `${resolve(path)} exists; ${remedy}`)
}
