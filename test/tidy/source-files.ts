import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { packageRoot } from '../../infra/package-root.js'

const root = packageRoot(import.meta.url)
const houses = ['schemas', 'pipeline', 'api', 'infra', 'benchmarks', 'test'] as const
export interface SourceFile {
  /** Path from the root, with slashes. */
  readonly path: string
  readonly house: string
  readonly text: string
  readonly tree: ts.SourceFile
  readonly imports: readonly string[]
}

export const sourceFiles: readonly SourceFile[] = houses.flatMap((house) =>
  readdirSync(join(root, house), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => read(join(root, house, name), house)),
)

function read(path: string, house: string): SourceFile {
  const text = readFileSync(path, 'utf8')
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: string[] = []
  visit(tree, (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const from = node.moduleSpecifier
      if (from !== undefined && ts.isStringLiteral(from)) imports.push(from.text)
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [from] = node.arguments
      if (from !== undefined && ts.isStringLiteral(from)) imports.push(from.text)
    }
  })
  return { path: relative(root, path).replaceAll('\\', '/'), house, text, tree, imports }
}

export function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  ts.forEachChild(node, (child) => visit(child, see))
}

/** The names that a file declares and exports; a binding that it only passes on is not among them. */
export function exportedNames({ tree }: SourceFile): ReadonlySet<string> {
  const names = tree.statements.flatMap((statement) => {
    if (!ts.canHaveModifiers(statement)) return []
    const modifiers = ts.getModifiers(statement) ?? []
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name))
    }
    const { name } = statement as ts.DeclarationStatement
    return name === undefined ? [] : [name.text]
  })
  return new Set(names)
}

function boundNames(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text]
  return name.elements.flatMap((one) => (ts.isOmittedExpression(one) ? [] : boundNames(one.name)))
}
