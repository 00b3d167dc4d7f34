/** Which rules made a projection? Raise it with every change of rules or prices that moves a derived row: sessions are then derived again. */
export const DERIVE_VERSION = 5;
