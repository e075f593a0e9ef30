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

/** Starts and ends together: a token of 16 KB has room for some 300 values of attributes. */
const tagsMax = 1_000
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
      const node = nodes.get(element)
      return node === undefined ? undefined : prove(body, { element, node }, keys)
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

/** An element twice: as a plain value, and as the parser has it. */
interface Found {
  readonly element: XmlElement
  readonly node: Element
}

/**
 * Verifies the signature before any digest. The canonical form of the content costs up to a hundred
 * times as much, and that is spent only on what a provider signed.
 */
function prove(text: string, found: Found, keys: readonly KeyObject[]): Proven | undefined {
  const signature = findSignature(found)
  const key = signature && findSigner(signature, keys)
  if (signature === undefined || key === undefined) return undefined
  const signed = readSigned(text, signature, key)
  const element = signed === undefined ? undefined : readXml(signed)?.root
  if (signed === undefined || element === undefined) return undefined
  const { name, attributes } = found.element
  const isOwn = element.attributes.get('ID') === attributes.get('ID') && element.name === name
  return isOwn ? { element, text: signed, key } : undefined
}

/** The one signature of an element; undefined where its form is not the one that SAML asks for. */
function findSignature({ element, node }: Found): Element | undefined {
  const isSignature = (name: string | null, namespace: string | null) =>
    name === 'Signature' && namespace === signatureNamespace
  const own = element.children.filter(({ name, namespace }) => isSignature(name, namespace))
  const [signature] = own
  if (signature === undefined || own.length > 1) return undefined
  if (!isBounded(signature, element.attributes.get('ID'))) return undefined
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    const { localName, namespaceURI } = child as Element
    if (isSignature(localName, namespaceURI)) return child as Element
  }
  return undefined
}

const prefixes = String.raw`(\(InclusiveNamespaces\))?`
const transform = `Transform${prefixes}`
/** At most two transforms, one reference, one key; what the key consists of is not looked at. */
const signatureForm = new RegExp(
  String.raw`^SignedInfo\(CanonicalizationMethod${prefixes},SignatureMethod,` +
    String.raw`Reference\((Transforms\(${transform}(,${transform})?\),)?DigestMethod,DigestValue\)\),` +
    'SignatureValue(,KeyInfo)?$',
)
/** A key with the chain of its certificates. */
const signatureElementsMax = 60
/** Characters of the prefixes whose namespaces a canonical form keeps. */
const prefixListMax = 200

/**
 * Whether a signature has the form of SAML 2.0 Core, 5.4: one reference, to the element that it is
 * in, and transforms that differ.
 */
function isBounded(signature: XmlElement, id: string | undefined): boolean {
  if (!signatureForm.test(formOf(signature.children))) return false
  const elements = descendantsOf(signature)
  const [reference] = elements.filter(({ name }) => name === 'Reference')
  if (id === undefined || reference?.attributes.get('URI') !== `#${id}`) return false
  const named = elements.filter(({ name }) => name === 'Transform')
  const algorithms = new Set(named.map(({ attributes }) => attributes.get('Algorithm')))
  const lists = elements.map(({ attributes }) => attributes.get('PrefixList')?.length ?? 0)
  const isShort = elements.length <= signatureElementsMax && Math.max(...lists) <= prefixListMax
  return isShort && algorithms.size === named.length
}

/** The names of elements and of what they contain, as in `Reference(DigestMethod,DigestValue)`. */
function formOf(elements: readonly XmlElement[]): string {
  const forms = elements.map(({ name, children }) => {
    const isOpen = name !== 'KeyInfo' && children.length > 0
    return isOpen ? `${name}(${formOf(children)})` : name
  })
  return forms.join()
}

function descendantsOf({ children }: XmlElement): readonly XmlElement[] {
  return children.flatMap((child) => [child, ...descendantsOf(child)])
}

/** Steps of xml-crypto that its typings call private; each accepted response goes through them. */
interface Steps {
  readonly signatureValue: string
  getCanonSignedInfoXml(document: Document): string
}

/** The key that a signature was made with, whether or not the signed content is still the same. */
function findSigner(signature: Element, keys: readonly KeyObject[]): KeyObject | undefined {
  try {
    const signed = openSignature(signature)
    const Algorithm = signed.SignatureAlgorithms[signed.signatureAlgorithm ?? '']
    if (Algorithm === undefined) return undefined
    const algorithm = new Algorithm()
    const { getCanonSignedInfoXml, signatureValue } = signed as unknown as Steps
    const info = getCanonSignedInfoXml.call(signed, signature.ownerDocument)
    return keys.find((key) => algorithm.verifySignature(info, key, signatureValue))
  } catch {
    return undefined
  }
}

/** The canonical bytes that a signature vouches for, if it is the key's and covers one element. */
function readSigned(text: string, signature: Element, key: KeyObject): string | undefined {
  try {
    const signed = openSignature(signature, key)
    if (!signed.checkSignature(text)) return undefined
    const [reference, ...others] = signed.getSignedReferences()
    return others.length === 0 ? reference : undefined
  } catch {
    return undefined
  }
}

/** Throws for what xml-crypto cannot read. */
function openSignature(signature: Element, key?: KeyObject): SignedXml {
  const signed = new SignedXml(key && { publicCert: key })
  signed.idAttributes = ['ID']
  keepOnly(signed.SignatureAlgorithms, signatureAlgorithms)
  keepOnly(signed.HashAlgorithms, digestAlgorithms)
  keepOnly(signed.CanonicalizationAlgorithms, transforms)
  signed.loadSignature(signature)
  return signed
}

function keepOnly(table: Record<string, unknown>, names: ReadonlySet<string>): void {
  for (const name of Object.keys(table)) if (!names.has(name)) delete table[name]
}
