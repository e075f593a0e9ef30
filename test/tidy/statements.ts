import t from 'tap'
import ts from 'typescript'
import { sourceFiles, visit } from './source-files.js'

/** How a statement or a fragment of one begins; help texts of the command line do not look like it. */
const opening =
  /^\s*(SELECT\s|WITH\s*[([]|INSERT INTO\s|ALTER TABLE\s|CREATE (OR REPLACE )?(TABLE|VIEW)|DROP TABLE|OPTIMIZE TABLE|DELETE FROM\s|EXISTS TABLE)/

/** Files whose statements are not sent through the store: the engine's front, the schema, the CIS, pages. */
const exempt =
  /^infra\/(clickhouse|schema)\/|^api\/cis\/|^infra\/(demo|guides)\/|^infra\/commands\/demo\.ts$|^pipeline\/store\/clickhouse\.ts$/

t.test('a statement is tagged, so that its values are bound', async (t) => {
  let tagged = 0
  for (const file of sourceFiles) {
    if (!/^(pipeline|api|infra)\//.test(file.path)) continue
    visit(file.tree, (node) => {
      if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql') tagged++
      if (!isText(node) || ts.isTaggedTemplateExpression(node.parent)) return
      if (exempt.test(file.path) || !opening.test(textOf(node))) return
      const { line } = file.tree.getLineAndCharacterOfPosition(node.getStart())
      t.fail(`${file.path}:${line + 1} is an untagged statement`)
    })
  }
  t.ok(tagged > 200, 'the statements were found')
})

t.test('only a person or the schema writes a statement as text', async (t) => {
  const users = sourceFiles.filter(
    ({ path, text }) => /\bstatementOf\(/.test(text) && !path.startsWith('test/'),
  )
  t.same(users.map(({ path }) => path).sort(), [
    'infra/commands/sql.ts',
    'infra/schema/migrate.ts',
    'pipeline/store/sql.ts',
  ])
})

type Text = ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression

function isText(node: ts.Node): node is Text {
  return (
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateExpression(node)
  )
}

function textOf(node: Text): string {
  return ts.isTemplateExpression(node) ? node.head.text : node.text
}
