import type { KeyObject } from 'node:crypto'
import { describeMismatch } from './refusal.js'
import { type Proven, readXml, type XmlDocument, type XmlElement } from './signed-xml.js'

export interface ResponseRules {
  readonly issuer: string
  readonly recipient: readonly string[]
}

/** A response that may hold an assertion, or why it does not. */
export type OpenedResponse =
  | {
      readonly problem?: never
      /** The request that it answers, where it names one. */
      readonly inResponseTo: string | undefined
      /** Whether the provider reports success; if not, only a signature of the response counts. */
      readonly isSuccess: boolean
      /** The assertion as one of the keys signed it. */
      prove(keys: readonly KeyObject[]): Proven | undefined
    }
  | { readonly problem: string; readonly detail?: string }

export const assertionNamespace = 'urn:oasis:names:tc:SAML:2.0:assertion'
const protocolNamespace = 'urn:oasis:names:tc:SAML:2.0:protocol'
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'

/**
 * Opens a response (SAML 2.0 Core, 3.2.2 and 3.3.3). What it says around its assertion need not be
 * signed and is believed for nothing but a refusal. There must be exactly one assertion, in its
 * place: others, wherever they are wrapped up, are how signatures are made to speak for them.
 */
export function openResponse(text: string, rules: ResponseRules): OpenedResponse {
  const document = readXml(text)
  if (document === undefined) return { problem: 'malformed token' }
  const { root } = document
  const problem = findProblem(root, rules)
  if (problem !== undefined) return problem
  const [assertion] = childrenOf(root, 'Assertion')
  if (assertion === undefined) return { problem: 'assertions' }
  const isSuccess = statusOf(root) === success
  return {
    inResponseTo: root.attributes.get('InResponseTo'),
    isSuccess,
    prove: (keys) => proveBoth(document, assertion, keys),
  }
}

/** The assertion's signature, and the response's own where it has one. */
function proveBoth(
  document: XmlDocument,
  assertion: XmlElement,
  keys: readonly KeyObject[],
): Proven | undefined {
  const isSigned = document.root.children.some(({ name }) => name === 'Signature')
  if (isSigned && document.prove(document.root, keys) === undefined) return undefined
  return document.prove(assertion, keys)
}

function findProblem(
  root: XmlElement,
  { issuer, recipient }: ResponseRules,
): { readonly problem: string; readonly detail?: string } | undefined {
  const { name, namespace, attributes } = root
  const isResponse = name === 'Response' && namespace === protocolNamespace
  if (!isResponse || attributes.get('Version') !== '2.0') return { problem: 'malformed token' }
  // First: what another provider issued may have another destination and other keys, too.
  const named = [root, ...childrenOf(root, 'Assertion')]
  const issuers = named.map((one) => childrenOf(one, 'Issuer'))
  const names = issuers.flat().map(({ text }) => text)
  if (issuers.some(({ length }) => length > 1) || names.some((name) => name !== issuer)) {
    return { problem: 'issuer', detail: describeMismatch(names, [issuer]) }
  }
  const destination = attributes.get('Destination')
  if (destination !== undefined && !recipient.includes(destination))
    return { problem: 'destination' }
  const status = statusOf(root)
  const isSigned = root.children.some((one) => one.name === 'Signature')
  if (status === undefined || (status !== success && !isSigned)) return { problem: 'status' }
  if (count(root, /^Encrypted/) > 0) return { problem: 'encrypted' }
  return count(root, /^Assertion$/) === 1 ? undefined : { problem: 'assertions' }
}

/** The status that the provider reports; undefined for none or several. */
function statusOf(root: XmlElement): string | undefined {
  const [status, ...moreStatus] = root.children.filter((one) => one.name === 'Status')
  const [code, ...moreCodes] = status?.children.filter((one) => one.name === 'StatusCode') ?? []
  return moreStatus.length + moreCodes.length === 0 ? code?.attributes.get('Value') : undefined
}

function count(element: XmlElement, name: RegExp): number {
  const own = name.test(element.name) ? 1 : 0
  return element.children.reduce((sum, child) => sum + count(child, name), own)
}

/** The children of SAML's own namespace with a name. */
export function childrenOf(element: XmlElement, name: string): readonly XmlElement[] {
  return element.children.filter(
    (child) => child.name === name && child.namespace === assertionNamespace,
  )
}
