/** The HTTP API as functions. Everything here is one request; src/stores call it, nothing else does. */
export {
  access,
  codeState,
  createCode,
  listDevices,
  redeemCode,
  redeemTicket,
  removeHost,
  revokeDevice,
  signOut,
  type Access,
  type Code,
  type CodeKind,
  type CodeState,
  type Device,
} from './access'
export { ApiError } from './errors'
export { inviteGuest, type GuestLink } from './guests'
export { whoAmI, type Me } from './me'
export { confirmPairing, denyPairing, listPairings, type Pairing } from './pairings'
export { loadProof, saveProof } from './proof'
export {
  forgetSession,
  renameSession,
  searchSession,
  sessionText,
  startSession,
  stopSession,
  type Found,
  type Match,
  type StartOptions,
  type Stop,
} from './sessions'
