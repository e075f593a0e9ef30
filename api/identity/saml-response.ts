import type { KeyObject } from 'node:crypto'
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
      /** The assertion as one of the keys signed it. */
      prove(keys: readonly KeyObject[]): Proven | undefined
    }
  | { readonly problem: string }

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
  if (problem !== undefined) return { problem }
  const [assertion] = childrenOf(root, 'Assertion')
  if (assertion === undefined) return { problem: 'assertions' }
  return {
    inResponseTo: root.attributes.get('InResponseTo'),
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

function findProblem(root: XmlElement, { issuer, recipient }: ResponseRules): string | undefined {
  const { name, namespace, attributes } = root
  const isResponse = name === 'Response' && namespace === protocolNamespace
  if (!isResponse || attributes.get('Version') !== '2.0') return 'malformed token'
  const destination = attributes.get('Destination')
  if (destination !== undefined && !recipient.includes(destination)) return 'destination'
  const issuers = childrenOf(root, 'Issuer')
  if (issuers.length > 1 || issuers.some(({ text }) => text !== issuer)) return 'issuer'
  const [status, ...moreStatus] = root.children.filter((one) => one.name === 'Status')
  const [code, ...moreCodes] = status?.children.filter((one) => one.name === 'StatusCode') ?? []
  const isAlone = moreStatus.length + moreCodes.length === 0
  if (!isAlone || code?.attributes.get('Value') !== success) return 'status'
  if (count(root, /^Encrypted/) > 0) return 'encrypted'
  return count(root, /^Assertion$/) === 1 ? undefined : 'assertions'
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
