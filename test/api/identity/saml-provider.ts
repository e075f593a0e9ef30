import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignedXml } from 'xml-crypto'

export const entityId = 'https://idp.example.com/saml'
export const acsUrl = 'https://platform.example.com/acs'

const assertionSpace = 'urn:oasis:names:tc:SAML:2.0:assertion'
const protocolSpace = 'urn:oasis:names:tc:SAML:2.0:protocol'
const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256'
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

export interface SamlSigner {
  readonly privateKey: KeyObject
  /** PEM. */
  readonly publicKey: string
}

export function createSamlSigner(modulusLength = 2_048): SamlSigner {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength })
  return { privateKey, publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })) }
}

/** What an assertion says; each part is XML text that a test may replace. */
export interface AssertionParts {
  readonly id?: string
  readonly version?: string
  readonly issuer?: string
  readonly issuedAt?: number
  readonly nameId?: string
  readonly recipient?: string
  readonly method?: string
  readonly confirmationData?: string
  readonly conditions?: string
  readonly audience?: string
  readonly from?: number
  readonly to?: number
  readonly statement?: string
  readonly attributes?: string
}

export const instant = (ms: number) => new Date(ms).toISOString()

export function assertionOf(parts: AssertionParts = {}): string {
  const now = Date.now()
  const { id = '_a1', version = '2.0', issuer = entityId, issuedAt = now, attributes = '' } = parts
  const { from = now - 60_000, to = now + 300_000, audience = 'tieline' } = parts
  const {
    nameId = '<saml:NameID>C-1</saml:NameID>',
    recipient = acsUrl,
    method = 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
    confirmationData = `<saml:SubjectConfirmationData Recipient="${recipient}" NotOnOrAfter="${instant(to)}"/>`,
    conditions = `<saml:Conditions NotBefore="${instant(from)}" NotOnOrAfter="${instant(to)}"><saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>`,
    statement = `<saml:AuthnStatement AuthnInstant="${instant(issuedAt)}"/>`,
  } = parts
  return (
    `<saml:Assertion xmlns:saml="${assertionSpace}" ID="${id}" Version="${version}" IssueInstant="${instant(issuedAt)}">` +
    `<saml:Issuer>${issuer}</saml:Issuer>` +
    `<saml:Subject>${nameId}<saml:SubjectConfirmation Method="${method}">${confirmationData}</saml:SubjectConfirmation></saml:Subject>` +
    `${conditions}${statement}${attributes}</saml:Assertion>`
  )
}

export interface ResponseParts {
  readonly attributes?: string
  readonly issuer?: string
  readonly status?: string
}

const success =
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>'

export function responseOf(content: string, parts: ResponseParts = {}): string {
  const { attributes = `Destination="${acsUrl}"`, status = success } = parts
  const { issuer = `<saml:Issuer xmlns:saml="${assertionSpace}">${entityId}</saml:Issuer>` } = parts
  return `<samlp:Response xmlns:samlp="${protocolSpace}" ID="_r1" Version="2.0" ${attributes}>${issuer}${status}${content}</samlp:Response>`
}

export interface SigningParts {
  readonly algorithm?: string
  readonly digest?: string
  /** The element that is signed, by its local name. */
  readonly element?: 'Assertion' | 'Response'
  /** The element that the signature is put into, where that is another one. */
  readonly place?: 'Assertion'
  /** Whose namespaces the canonical form keeps, as Okta, Shibboleth and others ask for. */
  readonly prefixes?: readonly string[]
}

/** Signs an element as providers do: enveloped, canonical, its signature behind the issuer. */
export function signXml(xml: string, signer: SamlSigner, parts: SigningParts = {}): string {
  const { algorithm = rsaSha256, digest = sha256, element = 'Assertion' } = parts
  const { place = element, prefixes = [] } = parts
  const pathOf = (name: string) => `//*[local-name(.)='${name}']`
  const xpath = pathOf(element)
  const signed = new SignedXml({
    privateKey: signer.privateKey,
    signatureAlgorithm: algorithm,
    canonicalizationAlgorithm: exclusive,
  })
  signed.addReference({
    xpath,
    transforms: [enveloped, exclusive],
    digestAlgorithm: digest,
    inclusiveNamespacesPrefixList: [...prefixes],
  })
  const issuer = `${pathOf(place)}/*[local-name(.)='Issuer']`
  signed.computeSignature(xml, { location: { reference: issuer, action: 'after' } })
  return signed.getSignedXml()
}

export const encode = (xml: string) => Buffer.from(xml).toString('base64url')
