/** The manifests: that they are whole and fit each other and svc. That Kubernetes takes them as they are was checked by its own schemas. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { unknownVariables } from '../../support/known-variables.ts';

const folder = join(import.meta.dirname, '../../../core/deploy/kubernetes');

const documentsOf = (file: string): unknown[] =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8'), { uniqueKeys: true, strict: true }).map((document) => {
    assert.equal(document.errors, [], file);
    return document.toJS() as unknown;
  });

const Labels = z.record(z.string(), z.string());
const Metadata = z.strictObject({ name: z.string(), labels: Labels.optional() });
const FromSecret = z.strictObject({ secretKeyRef: z.strictObject({ name: z.literal('svc'), key: z.string() }) });
const FromField = z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.string() }) });
const Timed = {
  periodSeconds: z.int(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int(),
};
const Http = z.strictObject({ httpGet: z.strictObject({ path: z.string(), port: z.string() }), ...Timed });
const Tcp = z.strictObject({ tcpSocket: z.strictObject({ port: z.string() }), ...Timed });
const Quantities = z.strictObject({ cpu: z.string().optional(), memory: z.string().regex(/^\d+(Mi|Gi)$/) });
const Container = z.strictObject({
  name: z.literal('svc'),
  image: z.literal('svc'), // kustomization.yaml names the real one
  args: z.tuple([z.literal('serve'), z.enum(['proxy', 'api', 'ingest', 'derive'])]),
  envFrom: z.tuple([z.strictObject({ configMapRef: z.strictObject({ name: z.literal('svc') }) })]),
  env: z.array(z.strictObject({ name: z.string(), valueFrom: z.union([FromSecret, FromField]) })),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })),
  lifecycle: z
    .strictObject({
      preStop: z.strictObject({
        exec: z.strictObject({ command: z.tuple([z.literal('node'), z.literal('-e'), z.string()]) }),
      }),
    })
    .optional(),
  livenessProbe: z.union([Http, Tcp]),
  readinessProbe: Http,
  startupProbe: z.union([Http, Tcp]),
  resources: z.strictObject({ requests: Quantities, limits: Quantities }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string() })),
});
const Pod = z.strictObject({
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: z.int().min(41), // svc ends by itself what hangs after 40 s
  securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1000) }),
  topologySpreadConstraints: z.array(z.looseObject({ labelSelector: z.strictObject({ matchLabels: Labels }) })),
  containers: z.tuple([Container]),
  volumes: z.array(z.strictObject({ name: z.string(), emptyDir: z.looseObject({}) })),
});
const Workload = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.enum(['Deployment', 'StatefulSet']),
  metadata: Metadata,
  spec: z.looseObject({
    replicas: z.int().min(2),
    selector: z.strictObject({ matchLabels: Labels }),
    template: z.strictObject({ metadata: z.strictObject({ labels: Labels }), spec: Pod }),
    serviceName: z.string().optional(),
    volumeClaimTemplates: z.array(z.looseObject({ metadata: z.strictObject({ name: z.string() }) })).optional(),
  }),
});
const Service = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata: Metadata,
  spec: z.looseObject({
    selector: Labels,
    ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })),
  }),
});
const Budget = z.strictObject({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata: Metadata,
  spec: z.strictObject({ maxUnavailable: z.literal(1), selector: z.strictObject({ matchLabels: Labels }) }),
});
const Role = z.union([Workload, Service, Budget]);

const ROLES = ['proxy', 'api', 'ingest', 'derive'] as const;
const PORTS: Record<string, number> = { proxy: 8080, api: 8081, ingest: 8082, internal: 8092 };
const test = suite('the Kubernetes manifests');

const kustomization = z
  .looseObject({ resources: z.array(z.string()), namespace: z.literal('svc') })
  .parse(documentsOf('kustomization.yaml')[0]);

test('all files are applied', () => {
  const files = readdirSync(folder).filter((name) => name !== 'kustomization.yaml');
  assert.equal([...kustomization.resources].sort(), files.sort());
});

test('the settings are ones that svc knows, and none is a secret', () => {
  const [settings] = documentsOf('settings.yaml');
  const { data } = z.looseObject({ kind: z.literal('ConfigMap'), data: Labels }).parse(settings);
  assert.equal(unknownVariables(Object.keys(data)), []);
  assert.equal(
    Object.keys(data).filter((name) => /TOKEN|DSN|KEY|PASSWORD/.test(name)),
    [],
  );
});

for (const role of ROLES) {
  const parts = documentsOf(`${role}.yaml`).map((document) => Role.parse(document));
  const [workload] = parts.flatMap((part) =>
    part.kind === 'Service' || part.kind === 'PodDisruptionBudget' ? [] : part,
  );
  if (!workload) throw new Error(`${role}.yaml has no workload`);
  const pod = workload.spec.template.spec;
  const [container] = pod.containers;
  const labels = workload.spec.template.metadata.labels;

  test(`${role}: services and budgets select its pods, and ports are those that svc listens on`, () => {
    assert.is(container.args[1], role);
    assert.equal(workload.spec.selector.matchLabels, labels);
    for (const part of parts) {
      assert.equal(part.metadata.labels, labels);
      if (part.kind === 'Service') assert.equal(part.spec.selector, labels);
      if (part.kind === 'PodDisruptionBudget') assert.equal(part.spec.selector.matchLabels, labels);
    }
    for (const { name, containerPort } of container.ports) assert.is(containerPort, PORTS[name], name);
    const named = container.ports.map(({ name }) => name);
    for (const part of parts)
      if (part.kind === 'Service')
        for (const { targetPort, port } of part.spec.ports) {
          assert.ok(named.includes(targetPort));
          assert.is(port, PORTS[targetPort]);
        }
    assert.is(parts.filter(({ kind }) => kind === 'PodDisruptionBudget').length, 1);
  });

  test(`${role}: its probes, and its secrets by reference`, () => {
    assert.equal(container.readinessProbe.httpGet, { path: '/ready', port: 'internal' });
    const alive =
      'httpGet' in container.livenessProbe ? container.livenessProbe.httpGet : container.livenessProbe.tcpSocket;
    // what answers at a proxy's internal listener is the process behind it, whose end must not end the calls
    assert.equal(alive, role === 'proxy' ? { port: 'proxy' } : { path: '/ping', port: 'internal' });
    const names = container.env.map(({ name }) => name);
    assert.equal(unknownVariables(names), []);
    const secrets = container.env.flatMap(({ name, valueFrom }) => ('secretKeyRef' in valueFrom ? name : []));
    for (const { name, valueFrom } of container.env)
      if ('secretKeyRef' in valueFrom) assert.is(valueFrom.secretKeyRef.key, name);
    const required = ['SVC_STORAGE_POSTGRES_DSN', 'SVC_INTERNAL_TOKEN', ...(role === 'api' ? ['SVC_API_TOKEN'] : [])];
    assert.equal(secrets, required);
  });

  test(`${role}: what has clients listens on until they are sent elsewhere, and has its whole time to end then`, () => {
    const hasClients = parts.some(({ kind }) => kind === 'Service');
    assert.is(container.lifecycle !== undefined, hasClients);
    if (!container.lifecycle) return;
    const [, , script] = container.lifecycle.preStop.exec.command;
    const waitMs = Number(/\d+/.exec(script)?.[0]);
    assert.ok(waitMs >= 5_000);
    assert.ok(pod.terminationGracePeriodSeconds >= waitMs / 1_000 + 41);
    const { signal } = spawnSync(process.execPath, ['-e', script], { timeout: 1_000 });
    assert.is(signal, 'SIGTERM'); // it waits still, and was ended by the test
  });

  test(`${role}: what svc writes lies on a volume, a journal on one that outlives the pod`, () => {
    assert.equal(
      container.volumeMounts.map(({ mountPath }) => mountPath),
      ['/var/lib/svc', '/tmp'],
    );
    const claimed = (workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
    assert.equal(claimed, role === 'proxy' ? ['home'] : []);
    const volumes = [...claimed, ...pod.volumes.map(({ name }) => name)];
    for (const { name } of container.volumeMounts) assert.ok(volumes.includes(name), name);
    assert.is(workload.kind, role === 'proxy' ? 'StatefulSet' : 'Deployment');
    if (workload.spec.serviceName)
      assert.ok(parts.some(({ kind, metadata }) => kind === 'Service' && metadata.name === workload.spec.serviceName));
  });
}

test.run();
