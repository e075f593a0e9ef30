interface FaultRule {
  readonly retry: boolean
  readonly meaning: string
}

/**
 * Every way in which a file, the world or a start can fail, and what to do about it. `retry` says
 * whether a later attempt may succeed with nothing changed.
 */
export const faultCodes = {
  FILE_NAME: {
    retry: false,
    meaning:
      'The name is not <CompanyCode>_<DDMMYYYY>_<Feed>[_<n>].csv[.gz|.zip]. Rename the file.',
  },
  COMPANY_CODE: {
    retry: false,
    meaning:
      'The company is not in companyCodes. Send the file to its own utility, or add the code.',
  },
  HEADER: {
    retry: false,
    meaning: "The header row is not the feed's. Send the file again with the columns it names.",
  },
  EMPTY_FILE: {
    retry: false,
    meaning: 'The file holds no bytes or no header. Export it again and send it again.',
  },
  NO_ROWS: {
    retry: false,
    meaning: 'The file holds a header and no rows. Send it again with its rows, if it has any.',
  },
  ENCODING: {
    retry: false,
    meaning: 'The file is not UTF-8 text. Export it as UTF-8 and send it again.',
  },
  ROW_LENGTH: {
    retry: false,
    meaning:
      'No line ends within a whole chunk. Export the file as a table with one row on a line.',
  },
  TRUNCATED: {
    retry: false,
    meaning: 'The file ends in the middle of a row. Send the whole file again.',
  },
  ARCHIVE: {
    retry: false,
    meaning: 'The gzip or zip is broken or does not hold exactly one file. Pack the file again.',
  },
  RATIO: {
    retry: false,
    meaning:
      'The archive grows beyond limits.ratioMax. Send the file unpacked, or raise the limit.',
  },
  FILE_TOO_LARGE: {
    retry: false,
    meaning:
      'The file or a row is above fileBytesMax or rowBytesMax. Split it, or raise the limit.',
  },
  TOO_MANY_REJECTED: {
    retry: false,
    meaning:
      'More rows were rejected than usage.rejectedShareMax allows. Mend them and send it again.',
  },
  SCHEDULE: {
    retry: false,
    meaning:
      'A complete schedule, or another file of its set, has errors. Mend them and send all of it again.',
  },
  DATE_ORDER: {
    retry: false,
    meaning: 'The dates prove another order than usage.dateOrder. Mend the export or the profile.',
  },
  UNBALANCED: {
    retry: false,
    meaning: 'Rows or energy do not add up to what was read. Keep the file and report the receipt.',
  },
  FILE_AHEAD: {
    retry: true,
    meaning:
      'A file ahead of this one is not published. file_load says why; this one goes on after it.',
  },
  ATTEMPTS: {
    retry: false,
    meaning:
      'Every attempt failed. Remove the cause that the receipt names, then load the file again.',
  },
  SOURCE_UNREACHABLE: {
    retry: true,
    meaning: 'The source does not answer. Check that it is up and that its address is right.',
  },
  SOURCE_CHANGED: {
    retry: true,
    meaning: 'The file changed while it was read. It is read again once it stands still.',
  },
  SOURCE_LOGIN: {
    retry: true,
    meaning: 'The source refuses the login. Mend user, key or password of the source.',
  },
  SOURCE_IDENTITY: {
    retry: true,
    meaning:
      'The server is not the one that the profile trusts. Ask its operator before anything else.',
  },
  SOURCE_REFUSED: {
    retry: true,
    meaning: 'The source refused a request. Mend what the message names; it is tried again.',
  },
  STORE_UNREACHABLE: {
    retry: true,
    meaning: 'ClickHouse does not answer. Check that it is up and that its address is right.',
  },
  STORE_REFUSED: {
    retry: false,
    meaning:
      'ClickHouse refused a statement. The message says why: rights, a missing migration, a limit.',
  },
  QUEUE_UNREACHABLE: {
    retry: true,
    meaning: 'Redis does not answer. Check that it is up and that its address is right.',
  },
  FILE_STATE: {
    retry: false,
    meaning: 'A file is not in a state in which that may be done to it. The detail says why.',
  },
  DISK_FULL: {
    retry: true,
    meaning: 'The disk has too little free space. Free some, or lower limits.freeDiskBytesMin.',
  },
  PERMISSION: {
    retry: true,
    meaning: 'A file or folder may not be read or written. Give the service user the right to it.',
  },
  PROFILE: {
    retry: false,
    meaning: 'The profile is not valid. Mend the settings that the message names and start again.',
  },
  CONFIG: {
    retry: false,
    meaning: 'An option or environment variable is not valid. Mend what the message names.',
  },
  PORT_TAKEN: {
    retry: false,
    meaning: 'Another program listens on the port. Stop it, or choose another port.',
  },
  MISSING_PROGRAM: {
    retry: false,
    meaning: 'A program that the service runs is not installed. Install what the message names.',
  },
  IDENTITY_UNREACHABLE: {
    retry: true,
    meaning:
      'The identity provider gives no keys or no answer. Check that it is up and its address.',
  },
  CIS_UNREACHABLE: {
    retry: true,
    meaning:
      'The CIS does not answer in time. Check that it is up and that cis in the profile is right.',
  },
  CIS_ANSWER: {
    retry: false,
    meaning:
      'The CIS answered what is no customer. Mend its record, or cis.fields, as the detail says.',
  },
  AMI_UNREACHABLE: {
    retry: true,
    meaning: 'The AMI head-end does not answer in time. Check that it is up and its address.',
  },
  AMI_ANSWER: {
    retry: false,
    meaning: 'The AMI head-end answered what is not understood. Mend ami in the profile.',
  },
  MDM_UNREACHABLE: {
    retry: true,
    meaning: 'The MDM does not answer in time. Check that it is up and that backfill.url is right.',
  },
  MDM_ANSWER: {
    retry: false,
    meaning: 'The MDM answered what is no usage. Mend its answer, or backfill in the profile.',
  },
  TRACES_UNREACHABLE: {
    retry: true,
    meaning:
      'The receiver of traces does not answer. Check it and OTEL_EXPORTER_OTLP_ENDPOINT; nothing waits for it.',
  },
  ALERT_UNREACHABLE: {
    retry: true,
    meaning: 'The receiver of alerts does not answer. Check that it is up and alerts.url is right.',
  },
  ALERT_REFUSED: {
    retry: false,
    meaning:
      'The receiver of alerts refuses them. Mend alerts.url or alerts.secret, or the receiver.',
  },
  OVERLOAD: {
    retry: true,
    meaning: 'More requests are in flight than limits allow. Add a gateway, or raise the limit.',
  },
  LISTENER: {
    retry: false,
    meaning: 'A listener cannot start. Mend the address or the certificate that the detail names.',
  },
  ALREADY_RUNNING: {
    retry: false,
    meaning: 'Another Tieline uses this data folder. Stop it, or choose another data folder.',
  },
} as const satisfies Record<string, FaultRule>

export type FaultCode = keyof typeof faultCodes

/**
 * What is wrong with a file, the world or the start: thrown with a code for machines and a detail
 * that names the thing, the value and what to do. Rows are judged by values and never throw.
 */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly detail: string
  readonly retry: boolean

  constructor(code: FaultCode, detail: string, options?: { cause?: unknown }) {
    super(`${code}: ${detail}`, options)
    this.code = code
    this.detail = detail
    this.retry = faultCodes[code].retry
  }
}
