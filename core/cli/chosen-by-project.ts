/**
 * What the configuration file of a folder may not choose: a cloned project can bring one, so it must not name the machine to which a token
 * or the keys of providers go. The user's own file may, and so may flags and variables.
 */
import { dirname } from 'node:path';
import type { LoadedConfig } from '../config/load.ts';
import { isOwnHost } from './own-host.ts';

type Target = 'client.proxy_target' | 'client.api_target';

const isOfProject = ({ source, file, homeFolder }: LoadedConfig, key: string): boolean =>
  source[key] === 'file' && file !== null && dirname(file) !== homeFolder;

/** Whether that address is of another machine, which a project's file names. */
export const isChosenByProject = (loaded: LoadedConfig, key: Target, address: string): boolean =>
  isOfProject(loaded, key) && !isOwnHost(address);

/** The token for the read API at that address. '': there is none, or it is not that file's own and does not go where that file says. */
export const tokenFor = (loaded: LoadedConfig, address: string): string =>
  isWithheld(loaded, address) ? '' : loaded.config.api.token;

/** Why the service has refused a request without a token. */
export const whyNoToken = (loaded: LoadedConfig, address: string): string =>
  isWithheld(loaded, address)
    ? `api.token is not sent to a machine that ${loaded.file} names: set SVC_CLIENT_API_TARGET to it as well`
    : 'api.token is missing; set SVC_API_TOKEN to the token that the service was started with';

const isWithheld = (loaded: LoadedConfig, address: string): boolean =>
  loaded.config.api.token !== '' &&
  !isOfProject(loaded, 'api.token') &&
  isChosenByProject(loaded, 'client.api_target', address);
