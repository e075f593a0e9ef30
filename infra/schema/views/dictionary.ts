import type { Store } from '../../../pipeline/store/clickhouse.js'
import { publicNames, publicViews } from './public-views.js'

interface DescribedColumn {
  readonly view: string
  readonly name: string
  readonly type: string
  readonly comment: string
}

const preface = `# Data dictionary

Made of the comments in the database by \`tieline dictionary\`; a test holds this page to them.

Every view has \`published_at\`, by which increments are pulled. Within a major version names and types
only gain. Instants are UTC, days are the utility's. [Questions and their queries](../../guides/query.md)
`

/** All published views with their columns and what each holds, as Markdown. */
export async function renderDictionary(store: Store): Promise<string> {
  const views = await store.rows<{ name: string; comment: string }>({
    sql: `SELECT name, comment FROM system.tables
      WHERE database = currentDatabase() AND name IN {names:Array(String)}`,
    parameters: { names: publicNames },
  })
  const columns = await store.rows<DescribedColumn>({
    sql: `SELECT table AS view, name, type, comment FROM system.columns
      WHERE database = currentDatabase() AND table IN {names:Array(String)} ORDER BY view, position`,
    parameters: { names: publicNames },
  })
  const comments = new Map(views.map(({ name, comment }) => [name, comment]))
  const sections = publicViews.map(({ title, names }) => {
    const own = names.map((name) =>
      renderView(
        { name, comment: comments.get(name) ?? '' },
        columns.filter(({ view }) => view === name),
      ),
    )
    return [`## ${title}\n`, ...own].join('\n')
  })
  return [preface, ...sections].join('\n')
}

function renderView(
  { name, comment }: { readonly name: string; readonly comment: string },
  columns: readonly DescribedColumn[],
): string {
  const rows = columns.map(({ name, type, comment }) => [code(name), code(type), toCell(comment)])
  const table = rows.length === 0 ? [] : [...alignRows([['column', 'type', 'holds'], ...rows]), '']
  return [`### ${name}\n`, `${comment}.\n`, ...table].join('\n')
}

/** A Markdown table whose cells are as wide as the widest of their column; the first row is its head. */
function alignRows(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [head = '', ...others] = rows.map(line)
  return [head, line(widths.map((width) => '-'.repeat(width))), ...others]
}

const code = (text: string) => `\`${text}\``
const toCell = (text: string) => text.replaceAll('|', '\\|')
