import { type Column, toReference } from './columns.js'
import type { Findings } from './finding.js'
import { nameOf } from './times/columns.js'
import { columnWords } from './words.js'

type Said = 'asSent' | 'estimated' | 'substituted' | 'missing'

/** What systems write of a read, in words that mean one thing only. */
const words: Readonly<Record<Said, RegExp>> = {
  asSent:
    /^(act(ual)?|real|measured|metered|ok|good|valid(ated)?|val|verified|read|m(å|aa)lt|m(ä|ae)tt|gemessen|wahrer wert|mesur(é|e)e?|r(é|e)elle?|medid[ao]|effettiva|gemeten)$/i,
  estimated:
    /^(est(imated?)?|estimat(ion|ed read)|estimeret|estimerad|estimert|gesch(ä|ae)tzt|estimad[ao]|estim(é|e)e?|stimat[ao]|geschat)$/i,
  substituted: /^(subst(itut(e|ed|ion))?|replaced|ersatzwert|sustituid[ao]|sostituit[ao])$/i,
  missing: /^(missing|null|n\/a|no ?data|not available|mangler|saknas|fehlt|manquante?)$/i,
}

/** Single letters mean this only where `A` is among them: `E` alone may be a substitute (Ersatzwert). */
const letters: Readonly<Record<string, Said>> = { A: 'asSent', E: 'estimated' }

const flags: Readonly<Record<string, Said>> = {
  ...{ true: 'estimated', yes: 'estimated', y: 'estimated' },
  ...{ false: 'asSent', no: 'asSent', n: 'asSent' },
}

const textsMax = 20
const saids = ['asSent', 'estimated', 'substituted', 'missing'] as const

/** Finds the column of the quality of reads; where its texts are not known, it is a question. */
export function findQuality(
  columns: readonly Column[],
  taken: ReadonlySet<Column>,
  findings: Findings,
): void {
  const named = columns.filter(
    (one) => columnWords.quality.test(one.word) && !taken.has(one) && isFlag(one),
  )
  const column =
    named.find((one) => meaningOf(one) !== undefined) ??
    named.find(({ word }) => columnWords.surelyQuality.test(word)) ??
    named.find(({ texts }) => texts.length > 1)
  const [other] = named.filter((one) => one !== column)
  if (other !== undefined) {
    const shown = other.texts.slice(0, 5).join(', ')
    findings.note(
      `${nameOf(other)} has ${shown}: if it marks estimates, answer it for columns.quality`,
    )
  }
  if (column === undefined) {
    // It can be answered.
    findings.decide('columns.quality', { evidence: 'no column shows a quality' })
    return
  }
  const reference = toReference(column, columns)
  const lists = meaningOf(column)
  const shown = column.texts.slice(0, textsMax).join(', ')
  findings.decide('columns.quality', {
    ...(lists && { value: { column: reference, ...lists } }),
    evidence: `${nameOf(column)} has ${shown}`,
    question: `what do these texts say of a read? Answer {column: ${JSON.stringify(reference)}, asSent: [TEXT], estimated: [TEXT], substituted: [TEXT], missing: [TEXT]} with the lists that apply, or none`,
  })
}

function isFlag({ kind, texts, word }: Column): boolean {
  const isOther = [columnWords.meter, columnWords.account, columnWords.site, columnWords.direction]
  if (isOther.some((pattern) => pattern.test(word)) || columnWords.otherCode.test(word))
    return false
  return (kind === 'text' || kind === 'number') && texts.length <= textsMax
}

/** The texts of a column by what they say; undefined where some text is not known. */
function meaningOf({ texts, word }: Column): Partial<Record<Said, readonly string[]>> | undefined {
  // The name asks whether a read is one.
  const isAsked = /\bestimated?\b/.test(word) && !/actual/.test(word)
  const hasLetters = texts.includes('A')
  const said = (text: string): Said | undefined =>
    saids.find((one) => words[one].test(text)) ??
    (hasLetters ? letters[text] : undefined) ??
    (isAsked ? flags[text.toLowerCase()] : undefined)
  if (!texts.every((text) => said(text) !== undefined)) return undefined
  const lists = saids.map((one) => [one, texts.filter((text) => said(text) === one)] as const)
  return Object.fromEntries(lists.filter(([, list]) => list.length > 0))
}
