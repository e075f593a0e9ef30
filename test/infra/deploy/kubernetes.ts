import { join } from 'node:path'
import ts from 'typescript'
import { packageRoot } from '../../../infra/package-root.js'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

const options: ts.CompilerOptions = {
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
}
const path = join(packageRoot(import.meta.url), 'test', 'manifests.ts')

/**
 * What Kubernetes would refuse in manifests: fields that it does not know, fields that lack, values
 * of another type. Each is compiled as a value of its kind, as made of the OpenAPI of Kubernetes.
 */
export function judgeManifests(manifests: readonly Manifest[]): readonly string[] {
  const text = manifests.map(toSource).join('\n')
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (name, version) =>
    name === path ? ts.createSourceFile(name, text, version) : getSourceFile(name, version)
  const found = ts.getPreEmitDiagnostics(ts.createProgram([path], options, host))
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

function toSource(manifest: Manifest, at: number): string {
  const [version, group = 'core'] = manifest.apiVersion.split('/').reverse()
  const types = `kubernetes-types/${group.split('.')[0]}/${version}`
  return `export const m${at}: import('${types}').${manifest.kind} = ${JSON.stringify(manifest)}`
}
