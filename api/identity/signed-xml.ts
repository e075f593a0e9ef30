import type { KeyObject } from 'node:crypto'
import { DOMParser } from '@xmldom/xmldom'
import { SignedXml } from 'xml-crypto'

/** An element as a plain value. */
export interface XmlElement {
  /** Without its prefix. */
  readonly name: string
  readonly namespace: string
  /** Those without a namespace. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
  /** Without blanks around it; empty where there are child elements. */
  readonly text: string
}

export interface Proven {
  /** Read from the very bytes that were signed, and from nothing else. */
  readonly element: XmlElement
  /** Those bytes, in their canonical form. */
  readonly text: string
  readonly key: KeyObject
}

export interface XmlDocument {
  readonly root: XmlElement
  /** What one of the keys signed of this element, by the one signature that is a child of it. */
  prove(element: XmlElement, keys: readonly KeyObject[]): Proven | undefined
}

const tagsMax = 4_000
const depthMax = 40
const signatureNamespace = 'http://www.w3.org/2000/09/xmldsig#'
const signatureAlgorithms = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
])
const digestAlgorithms = new Set([
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
])
const transforms = new Set([
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
])

/**
 * Reads a document; undefined for one that is not well-formed, too deep, or has what signed XML has
 * no need of and attacks live on: a document type, entities, comments, CDATA, instructions.
 */
export function readXml(text: string): XmlDocument | undefined {
  const body = text.replace(/\r\n?/g, '\n').replace(/^<\?xml [^<>?]*\?>/, '')
  if (/<[!?]/.test(body) || body.split('<').length > tagsMax) return undefined
  const node = parse(body)
  const nodes = new Map<XmlElement, Element>()
  const root = node === undefined ? undefined : toElement(node, nodes, depthMax)
  if (root === undefined) return undefined
  return {
    root,
    prove: (element, keys) => {
      const signed = nodes.get(element)
      return signed === undefined ? undefined : prove(body, signed, keys)
    },
  }
}

function parse(text: string): Element | undefined {
  const refuse = (message: string) => {
    throw new Error(message)
  }
  const errorHandler = { warning: refuse, error: refuse, fatalError: refuse }
  try {
    const document = new DOMParser({ errorHandler }).parseFromString(text, 'text/xml')
    // Null, whatever its type says, where there is no element.
    return (document.documentElement as Element | null) ?? undefined
  } catch {
    return undefined
  }
}

/** Undefined where the element is deeper than `depth`. */
function toElement(
  node: Element,
  nodes: Map<XmlElement, Element>,
  depth: number,
): XmlElement | undefined {
  if (depth === 0) return undefined
  const children: XmlElement[] = []
  let text = ''
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.nodeType !== child.ELEMENT_NODE) {
      text += child.nodeValue ?? ''
      continue
    }
    const element = toElement(child as Element, nodes, depth - 1)
    if (element === undefined) return undefined
    children.push(element)
  }
  const attributes = new Map<string, string>()
  for (let at = 0; at < node.attributes.length; at++) {
    const attribute = node.attributes.item(at)
    const isPlain = attribute !== null && !attribute.namespaceURI && attribute.name !== 'xmlns'
    if (isPlain) attributes.set(attribute.name, attribute.value)
  }
  const element = {
    name: node.localName,
    namespace: node.namespaceURI ?? '',
    attributes,
    children,
    text: children.length > 0 ? '' : text.trim(),
  }
  nodes.set(element, node)
  return element
}

function prove(text: string, node: Element, keys: readonly KeyObject[]): Proven | undefined {
  const signatures: Element[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    const isSignature =
      child.nodeType === child.ELEMENT_NODE &&
      (child as Element).localName === 'Signature' &&
      (child as Element).namespaceURI === signatureNamespace
    if (isSignature) signatures.push(child as Element)
  }
  const [signature] = signatures
  if (signature === undefined || signatures.length > 1) return undefined
  for (const key of keys) {
    const signed = readSigned(text, signature, key)
    const element = signed === undefined ? undefined : readXml(signed)?.root
    if (signed === undefined || element === undefined) continue
    const isOwn = element.attributes.get('ID') === node.getAttribute('ID')
    return isOwn && element.name === node.localName ? { element, text: signed, key } : undefined
  }
  return undefined
}

/** The canonical bytes that a signature vouches for, if it is the key's and covers one element. */
function readSigned(text: string, signature: Element, key: KeyObject): string | undefined {
  const signed = new SignedXml({ publicCert: key })
  signed.idAttributes = ['ID']
  keepOnly(signed.SignatureAlgorithms, signatureAlgorithms)
  keepOnly(signed.HashAlgorithms, digestAlgorithms)
  keepOnly(signed.CanonicalizationAlgorithms, transforms)
  try {
    signed.loadSignature(signature)
    if (!signed.checkSignature(text)) return undefined
  } catch {
    return undefined
  }
  const [reference, ...others] = signed.getSignedReferences()
  return others.length === 0 ? reference : undefined
}

function keepOnly(table: Record<string, unknown>, names: ReadonlySet<string>): void {
  for (const name of Object.keys(table)) if (!names.has(name)) delete table[name]
}
