package vt

// StateVersion is the version of what State writes and Restore reads, for the
// greetings on the wire.
const StateVersion = stateVersion
