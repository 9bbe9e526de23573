/**
 * The way between the server and a screen: one socket, resumed for ever, and on it the attachments with their bytes and
 * their input. It knows no Vue and draws nothing; src/stores own the link, src/term gives an attachment its screen.
 */
export { Attachment, type AttachmentEvents, type AttachmentState, type Phase } from './attachment'
export { now } from './clock'
export type { OpenSocket, Socket } from './connection'
export { Emitter } from './emitter'
export type { KeptBatch, PendingInput, ReturnedInput, ReturnReason } from './inputQueue'
export { readKept, storeKept } from './kept'
export { keyLabel } from './keyNames'
export { describeInputs } from './returned'
export type { Screen } from './stream'
export { ViewerLink, type LinkEvent, type LinkOptions, type LinkStatus, type Welcome } from './viewerLink'
