/** `svc doctor`: sends turns of its own through each listener and reads them back, and names what is misconfigured with the line that mends it. */
import type { CoverageReport } from '../../api/coverage.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { ProviderId } from '../../provider/provider-ids.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { addresses } from '../read-api.ts';
import { plain } from '../units.ts';
import { clientChecks } from './client-checks.ts';
import { type Finding, fail, printFinding, skip } from './finding.ts';
import { harnessChecks } from './harness-checks.ts';
import { reasonIn, sentinelThroughIngest, sentinelThroughProxy } from './sentinel.ts';
import { type ServiceAddress, serviceChecks } from './service-checks.ts';

export type DoctorOptions = {
  json: boolean;
  /** Nothing is sent to a provider. */
  offline: boolean;
  /** The providers to which a call is sent; none: that of bare paths, and those that were recorded before. */
  providers: readonly string[];
};

/** 0 when nothing has failed, else 1. @throws {OperatorError} 2: there is no such provider */
export async function runDoctor(options: DoctorOptions, loaded: LoadedConfig, io: Io): Promise<0 | 1> {
  const named = options.providers.map(providerNamed);
  const findings: Finding[] = [];
  const report = (finding: Finding) => {
    findings.push(finding);
    if (!options.json) printFinding(finding, io);
  };
  const { findings: ofService, reached } = await serviceChecks(loaded);
  ofService.forEach(report);
  if (reached) for await (const finding of sentinels(reached, { ...options, named }, loaded)) report(finding);
  else report(skip('recording', 'not checked, since the service could not be read'));
  const at = reached ?? addresses(loaded);
  if (at.proxy !== null && at.api !== null) {
    const { provider } = loaded.config.proxy;
    const clients = { proxy: at.proxy, api: at.api, ingest: at.ingest, provider, env: io.env, home: io.home };
    clientChecks(clients).forEach(report);
  }
  harnessChecks(io).forEach(report);
  if (options.json) printJson({ findings }, io);
  return findings.some(({ level }) => level === 'fail') ? 1 : 0;
}

type Sentinels = Pick<DoctorOptions, 'offline'> & { named: readonly ProviderId[] };

async function* sentinels(
  { proxy, ingest }: ServiceAddress,
  { offline, named }: Sentinels,
  loaded: LoadedConfig,
): AsyncGenerator<Finding> {
  const api = await openApiClient(loaded);
  if (ingest !== null) yield checked('recording by ingest', sentinelThroughIngest(api, ingest));
  if (offline) return yield skip('recording', 'no call was sent through the proxy, since --offline was set');
  if (proxy === null) return;
  const providers = named.length > 0 ? named : await providersInUse(api, loaded);
  for (const provider of providers) yield checked(`recording ${provider}`, sentinelThroughProxy(api, proxy, provider));
}

/** What the service refuses meanwhile is a finding as well, and ends no other check. */
const checked = (check: string, finding: Promise<Finding>): Promise<Finding> =>
  finding.catch((error: unknown) => {
    if (!(error instanceof OperatorError)) throw error;
    return fail(check, `a call was sent, and could not be read back: ${reasonIn(error)}`, 'svc status');
  });

/** Those of the settings alone, where the service does not show what was recorded. */
async function providersInUse(api: ApiClient, { config }: LoadedConfig): Promise<ProviderId[]> {
  const read = api.json<CoverageReport>({ path: '/v1/coverage', what: 'read the coverage' });
  const { by_provider } = await read.catch((error: unknown): Pick<CoverageReport, 'by_provider'> => {
    if (error instanceof OperatorError) return { by_provider: {} };
    throw error;
  });
  return ProviderId.options.filter((id) => id === config.proxy.provider || (by_provider[id]?.requests ?? 0) > 0);
}

function providerNamed(word: string): ProviderId {
  const named = ProviderId.safeParse(word);
  if (named.success) return named.data;
  throw new OperatorError(`Cannot send a call to '${plain(word)}': there are only ${ProviderId.options.join(', ')}`, 2);
}
