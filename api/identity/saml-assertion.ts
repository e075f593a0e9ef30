import { describeExpiry, describeMismatch } from './refusal.js'
import { assertionNamespace, childrenOf } from './saml-response.js'
import type { XmlElement } from './signed-xml.js'

export interface AssertionRules {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly recipient: readonly string[]
  readonly claim: string
  readonly clockToleranceSeconds: number
  readonly ageSecondsMax: number
  /** Milliseconds since 1970. */
  readonly now: number
  /** The request that the response says it answers. */
  readonly inResponseTo: string | undefined
}

/** What a signed assertion says, or why it says nothing. */
export type ReadAssertion =
  | {
      readonly problem?: never
      readonly claim: string | undefined
      /** Milliseconds since 1970. */
      readonly expiresAt: number
      /** Whether it is meant for us. */
      readonly isMeant: boolean
      readonly audience: readonly string[]
    }
  | { readonly problem: string; readonly detail?: string }

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
/** Conditions that are understood; ProxyRestriction binds those who issue assertions themselves. */
const conditionsKnown = new Set(['AudienceRestriction', 'ProxyRestriction'])

/**
 * Reads an assertion of the web browser profile (SAML 2.0 Core, 2.3 to 2.7; Profiles, 4.1.4): one
 * subject, confirmed as bearer for our recipient, conditions with an audience, a statement that the
 * subject signed in, and times that all hold.
 */
export function readAssertion(assertion: XmlElement, rules: AssertionRules): ReadAssertion {
  const { name, namespace, attributes } = assertion
  const isAssertion = name === 'Assertion' && namespace === assertionNamespace
  if (!isAssertion || attributes.get('Version') !== '2.0') return { problem: 'assertions' }
  const issuer = one(assertion, 'Issuer')?.text
  if (issuer !== rules.issuer) {
    return { problem: 'issuer', detail: describeMismatch(issuer, [rules.issuer]) }
  }
  const conditions = one(assertion, 'Conditions')
  const subject = one(assertion, 'Subject')
  const sessions = childrenOf(assertion, 'AuthnStatement')
  if (conditions === undefined) return { problem: 'conditions' }
  if (conditions.children.some((child) => !conditionsKnown.has(child.name))) {
    return { problem: 'conditions' }
  }
  if (subject === undefined || sessions.length === 0) return { problem: 'subject' }
  const confirmation = childrenOf(subject, 'SubjectConfirmation')
    .map((element) => confirmationOf(element, rules))
    .find((data) => data !== undefined)
  if (confirmation === undefined) return { problem: 'subject confirmation' }
  const times = readTimes([assertion, conditions, confirmation, ...sessions], rules)
  if (times.problem !== undefined) return times
  const restrictions = childrenOf(conditions, 'AudienceRestriction')
  if (restrictions.length === 0) return { problem: 'conditions' }
  const named = restrictions.map((restriction) =>
    childrenOf(restriction, 'Audience').map(({ text }) => text),
  )
  const isMeant = named.every((names) => names.some((name) => rules.audience.includes(name)))
  const claim = claimOf(assertion, subject, rules.claim)
  return { claim, expiresAt: times.expiresAt, isMeant, audience: named.flat() }
}

/** The data of a confirmation that holds for whoever bears it to our recipient. */
function confirmationOf(element: XmlElement, rules: AssertionRules): XmlElement | undefined {
  const data = one(element, 'SubjectConfirmationData')
  if (element.attributes.get('Method') !== bearer || data === undefined) return undefined
  const { attributes } = data
  if (!rules.recipient.includes(attributes.get('Recipient') ?? '')) return undefined
  if (!attributes.has('NotOnOrAfter')) return undefined
  const answered = attributes.get('InResponseTo')
  return answered === rules.inResponseTo ? data : undefined
}

type Times =
  | { readonly problem: string; readonly detail?: string }
  | { readonly problem?: never; readonly expiresAt: number }

/** When an assertion stops: the earliest of all ends that it names, and its age. */
function readTimes(
  elements: readonly XmlElement[],
  { now, clockToleranceSeconds, ageSecondsMax }: AssertionRules,
): Times {
  const read = (names: readonly string[]) =>
    elements.flatMap(({ attributes }) =>
      names.flatMap((name) => (attributes.has(name) ? [toInstant(attributes.get(name))] : [])),
    )
  const issuedAt = toInstant(elements[0]?.attributes.get('IssueInstant'))
  const starts = [issuedAt, ...read(['NotBefore', 'AuthnInstant'])]
  const ends = [issuedAt + ageSecondsMax * 1_000, ...read(['NotOnOrAfter', 'SessionNotOnOrAfter'])]
  if ([...starts, ...ends].some(Number.isNaN)) return { problem: 'times' }
  const toleranceMs = clockToleranceSeconds * 1_000
  if (Math.max(...starts) > now + toleranceMs) return { problem: 'not yet valid' }
  const expiresAt = Math.min(...ends)
  if (expiresAt <= now - toleranceMs) {
    return { problem: 'expired', detail: describeExpiry(expiresAt, now) }
  }
  return { expiresAt }
}

/** NaN for text that is not an instant in UTC (SAML 2.0 Core, 1.3.3). */
function toInstant(text: string | undefined): number {
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text ?? '')
  return isInstant ? Date.parse(text ?? '') : Number.NaN
}

/** The lasting name of the subject, or the one value of an attribute; undefined for anything else. */
function claimOf(assertion: XmlElement, subject: XmlElement, claim: string): string | undefined {
  if (claim === 'NameID') {
    const nameId = one(subject, 'NameID')
    return nameId?.attributes.get('Format') === transient ? undefined : nameId?.text
  }
  const values = childrenOf(assertion, 'AttributeStatement')
    .flatMap((statement) => childrenOf(statement, 'Attribute'))
    .filter(({ attributes }) => attributes.get('Name') === claim)
    .flatMap((attribute) => childrenOf(attribute, 'AttributeValue'))
  return values.length === 1 ? values[0]?.text : undefined
}

function one(element: XmlElement, name: string): XmlElement | undefined {
  const [first, ...others] = childrenOf(element, name)
  return others.length === 0 ? first : undefined
}
