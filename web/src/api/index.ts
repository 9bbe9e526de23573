/** The HTTP API as functions. Everything here is one request; src/stores call it, nothing else does. */
export {
  access,
  codeState,
  createCode,
  createToken,
  listDevices,
  listTokens,
  redeemCode,
  redeemTicket,
  removeHost,
  renameDevice,
  revokeDevice,
  revokeOtherDevices,
  revokeToken,
  type Access,
  type Code,
  type CodeKind,
  type CodeState,
  type Device,
  type NewToken,
  type Token,
  type TokenOptions,
} from './access'
export { auditPage, exportAudit, type AuditFilter, type AuditLine, type AuditPage } from './audit'
export { ApiError } from './errors'
export { inviteGuest, type GuestLink } from './guests'
export { whoAmI, type Me } from './me'
export { confirmPairing, denyPairing, listPairings, type Pairing } from './pairings'
export { loadProof, saveProof } from './proof'
export {
  onSignOutElsewhere,
  outcomeOf,
  oweSignOut,
  owesSignOut,
  settleSignOut,
  signOut,
  storedDebt,
  type SignOutOutcome,
} from './signOut'
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
