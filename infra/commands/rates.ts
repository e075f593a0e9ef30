import { existsSync } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import {
  type Import,
  type ImportedFile,
  type ImportedTariff,
  importRates,
} from '../../schemas/rating/database/import.js'
import { labelsOf } from '../../schemas/rating/database/tariff.js'
import { isDay } from '../../schemas/record-value.js'
import { type Context, exitCodes } from './context.js'
import { writeInto } from './output/out-file.js'
import { grouped, printable, renderTable, type TableColumn } from './output/table.js'

export interface RatesImportOptions {
  readonly company: string
  readonly out: string
  /** `LABEL=CODE`, or `CODE` where the file has one entry. */
  readonly code: readonly string[]
  readonly date?: string
  readonly from?: string
  readonly until?: string
  readonly json: boolean
}

/**
 * Writes rate files from JSON of the open rate database and prints what they do not have. Writes none
 * if the linter finds errors, and never over a file. The exit code is 2 if an entry was left out, or
 * nothing was written. Throws `CONFIG` or `SOURCE_UNREACHABLE`.
 */
export async function ratesImport(
  context: Context,
  path: string,
  options: RatesImportOptions,
): Promise<number> {
  if (!/^[A-Za-z0-9]{1,32}$/.test(options.company)) {
    const expected = 'use 1 to 32 letters and digits, as in companyCodes of the profile'
    throw new Fault('CONFIG', `--company ${options.company} is not a company code; ${expected}`)
  }
  const value = await readJson(path)
  const { from, until } = options
  const imported = importRates(value, {
    company: options.company,
    fileDate: dayOption('--date', options.date) ?? new Date().toISOString().slice(0, 10),
    codes: new Map(options.code.map((text) => toCode(text, value))),
    from: dayOption('--from', from),
    until: dayOption('--until', until),
  })
  const isGood = imported.linted.errors.length === 0
  if (isGood) await writeAll(options.out, imported.files)
  context.print(options.json ? toJson(imported) : render(imported, options.out))
  const isComplete = imported.tariffs.every(({ refused }) => refused === undefined)
  return isGood && isComplete ? exitCodes.good : exitCodes.quarantined
}

/** More than all rates of a large utility. */
const bytesMax = 64_000_000

async function readJson(path: string): Promise<unknown> {
  const text = await readText(path)
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    // The message of the parser quotes the text; only its position is repeated.
    const position = /position \d+/.exec(String(cause))?.[0]
    const where = position === undefined ? '' : `, at ${position}`
    const remedy =
      'Name a file as the database exports it, in which each number is written in digits'
    throw new Fault('CONFIG', `${path} is not JSON${where}. ${remedy}`)
  }
}

async function readText(path: string): Promise<string> {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new Fault('CONFIG', `${path} is not a file; name one`)
    if (found.size > bytesMax) {
      const sizes = `${grouped(found.size)} bytes; at most ${grouped(bytesMax)} are read`
      throw new Fault('CONFIG', `${path} has ${sizes}. Export the rates of one utility`)
    }
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('SOURCE_UNREACHABLE', `${path}: ${code ?? 'unreadable'}`, { cause })
  }
}

function dayOption(name: string, text: string | undefined): string | undefined {
  if (text === undefined || isDay(text)) return text
  throw new Fault('CONFIG', `${name} ${text} is not a day; write YYYY-MM-DD`)
}

/** A label and its rate code; a code alone is that of the only entry. */
function toCode(text: string, value: unknown): readonly [label: string, code: string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  const labels = labelsOf(value)
  if (labels.length === 1) return [labels[0] ?? '', text]
  const remedy = `the file has ${labels.length} entries; write --code LABEL=CODE`
  throw new Fault('CONFIG', `--code ${text} does not name an entry; ${remedy}`)
}

const tariffColumns: readonly TableColumn<ImportedTariff>[] = [
  { title: 'rate code', cell: ({ rateCode }) => rateCode },
  { title: 'name', cell: ({ name }) => name },
  { title: 'imported', cell: ({ refused }) => (refused === undefined ? 'yes' : 'no') },
  { title: 'missing', right: true, cell: ({ missing }) => grouped(missing.length) },
]

function render({ tariffs, files, linted }: Import, out: string): string {
  const { errors, warnings } = linted
  const isWritten = errors.length === 0 && files.length > 0
  const verdict = `lint: ${errors.length} errors, ${warnings.length} warnings`
  const blocks = [
    renderTable(tariffColumns, tariffs),
    ...tariffs.flatMap(renderTariff),
    [
      verdict,
      ...errors.map(({ at, detail }) => `  error: ${at.fileName} line ${at.line}: ${detail}`),
      ...warnings.map((text) => `  warning: ${text}`),
    ],
    isWritten ? [renderFiles(files, out), '', loadNote] : ['no file was written'],
  ]
  return blocks
    .map((block) => (typeof block === 'string' ? block : block.map(lines).join('\n')))
    .join('\n\n')
}

const loadNote =
  'Rate files are complete schedules: loaded, each replaces the one of its feed in force.'

function lines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

function renderTariff({ rateCode, refused, missing, notes }: ImportedTariff) {
  const found = [
    ...(refused === undefined ? [] : [`  not imported: ${refused}`]),
    ...missing.map(({ field, detail }) => `  not in the bills: ${field}: ${detail}`),
    ...notes.map((text) => `  note: ${text}`),
  ]
  return found.length === 0 ? [] : [[rateCode, ...found]]
}

function renderFiles(files: readonly ImportedFile[], out: string): string {
  return renderTable<ImportedFile>(
    [
      { title: 'file', cell: ({ name }) => join(out, name) },
      { title: 'rows', right: true, cell: ({ lines }) => grouped(lines.length - 1) },
    ],
    files,
  )
}

function toJson({ tariffs, files, linted }: Import): string {
  const lint = {
    errors: linted.errors.map(({ at, code, detail }) => ({
      file: at.fileName,
      line: at.line,
      code,
      detail,
    })),
    warnings: linted.warnings,
  }
  const written = lint.errors.length > 0 ? [] : files
  const counts = written.map(({ name, lines }) => ({ name, rows: lines.length - 1 }))
  return JSON.stringify({ tariffs, lint, files: counts }, undefined, 2)
}

/** A poll of the folder sees complete files only. */
async function writeAll(out: string, files: readonly ImportedFile[]): Promise<void> {
  const there = files.find(({ name }) => existsSync(join(out, name)))
  if (there !== undefined) {
    const remedy = 'name another folder with --out, or another --date'
    throw new Fault('CONFIG', `${join(out, there.name)} exists; ${remedy}`)
  }
  const unfinished = files.map(({ name }) => join(out, `.${name}.part`))
  await writeInto(
    out,
    async () => {
      for (const [at, { lines }] of files.entries()) {
        await writeFile(unfinished[at] ?? '', `${lines.join('\n')}\n`)
      }
      for (const [at, { name }] of files.entries()) {
        await rename(unfinished[at] ?? '', join(out, name))
      }
    },
    async () => {
      for (const path of unfinished) await rm(path, { force: true })
    },
  )
}
