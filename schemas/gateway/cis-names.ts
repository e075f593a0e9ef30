/** The fields of customer, site and meter, by the names that the specification gives them. */
export const customerNames = [
  'clientId',
  'firstName',
  'lastName',
  'businessName',
  'AcctStatus',
  'customerSites',
  'locked',
  'attemptsRemaining',
] as const
export const siteNames = [
  'externalSiteId',
  'isPrimary',
  'firstName',
  'lastName',
  'address1',
  'city',
  'state',
  'postalCode',
  'meters',
] as const
export const meterNames = [
  'accountNumber',
  'meterId',
  'meterType',
  'unitOfMeasure',
  'isPrimary',
  'isAMI',
  'isAMR',
  'PANID',
  'rateCode',
  'rateMultiplier',
  'billingCycleId',
  'dialCount',
  'readUnder',
] as const
