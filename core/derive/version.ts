/** The version of the derivation rules. Raise it with every change of rules or prices that changes a derived row: sessions are then derived again. */
export const DERIVE_VERSION = 14;
