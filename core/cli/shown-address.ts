/** An address to paste, with loopback by its name. */
export const shownAddress = (address: string): string =>
  address.replace('//127.0.0.1:', '//localhost:').replace('//[::1]:', '//localhost:');
