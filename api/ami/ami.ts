/** A meter as the head-end has it; hubs by their address, upper case. */
export interface AmiMeter {
  readonly meterId: string
  readonly isAMI: boolean
  /** The hub that is bound to it. */
  readonly boundTo: string | undefined
  /** The hub that an action is under way for. */
  readonly pendingFor: string | undefined
}

export interface AmiAction {
  /** Ours, the same for every attempt at one action. */
  readonly actionId: string
  readonly actionCode: 0 | 1
  readonly meterId: string
  readonly macAddress: string
  readonly installCode: string
  readonly hemProfileId: string
  readonly accountSlid: string
}

/** What the head-end says to an action; `refused` is final. */
export type AmiOutcome = 'success' | 'pending' | 'refused'

/**
 * A driver for one kind of AMI head-end. Faults: `AMI_UNREACHABLE`, after which it is not known what
 * became of an action, and `AMI_ANSWER`.
 */
export interface Ami {
  /** The meter of an account service location, undefined where there is none. */
  locate(accountSlid: string): Promise<string | undefined>
  meter(meterId: string): Promise<AmiMeter | undefined>
  act(action: AmiAction): Promise<AmiOutcome>
  close(): Promise<void>
}
