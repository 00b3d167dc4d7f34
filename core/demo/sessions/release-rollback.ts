/** A release that does not come up, taken back first and explained afterwards. A session of opencode with OpenAI's Chat Completions. */
import { answers, asks, calls, type Script, use } from '../script.ts';
import { opencodeTools, shell } from '../tools.ts';

const CHECK = `#!/bin/sh
# Every setting that the code reads must be set where it is released to. Prints those that are not.
missing=0
for name in $(node dist/settings.js --required); do
  shipyard config get "$1" "$name" > /dev/null 2>&1 || { echo "not set on $1: $name"; missing=1; }
done
exit $missing
`;

export const releaseRollback: Script = {
  slug: 'release-rollback',
  wire: 'chat',
  minutes_ago: 385,
  agent: 'opencode',
  harness: { id: 'opencode', version: '1.18.33', cwd: '/home/dev/ferrybook' },
  model: 'gpt-4.1',
  system: 'You are opencode, an interactive CLI tool that helps users with software engineering tasks.',
  preamble_tokens: 7_100,
  tools: opencodeTools,
  steps: [
    asks(
      'The release of 2.14.0 fails its health checks in production. Bring us back first, then tell me what happened.',
    ),
    calls(
      'First the state of the release.',
      shell(
        'shipyard status web --env production',
        'State of the release',
        'release  2.14.0 (rolling, 4 m)   strategy: rolling, max unavailable 2\nweb-1  2.13.2  healthy\nweb-2  2.13.2  healthy\nweb-3  2.13.2  healthy\nweb-4  2.13.2  healthy\nweb-5  2.14.0  restarting (5)\nweb-6  2.14.0  restarting (5)',
      ),
    ),
    calls(
      'Two of six instances restart in a loop, four still serve 2.13.2. I roll back.',
      shell(
        'shipyard rollback web --env production --to 2.13.2 --wait',
        'Roll back to 2.13.2',
        'rolling back web to 2.13.2\nweb-5  2.13.2  healthy\nweb-6  2.13.2  healthy\ndone in 38 s',
        38,
      ),
    ),
    calls(
      '',
      shell(
        'curl -fsS https://ferrybook.example/healthz && shipyard errors web --env production --since 10m',
        'Health and errors after the rollback',
        '{"status":"ok","version":"2.13.2"}\n0 errors in the last 2 m, 61 before that',
        1.8,
      ),
    ),
    calls(
      'Production is back on 2.13.2 and healthy. Now the cause.',
      shell(
        'shipyard logs web-5 --env production --release 2.14.0 --tail 6',
        'Last words of a failed instance',
        'info  starting web 2.14.0\ninfo  database reachable, schema 41\nerror Cannot start: required setting PAYMENT_RETURN_URL is not set\ninfo  exit 1\ninfo  starting web 2.14.0\nerror Cannot start: required setting PAYMENT_RETURN_URL is not set',
      ),
      shell(
        'git log --oneline -1 -S PAYMENT_RETURN_URL -- src/settings.ts && grep -rn PAYMENT_RETURN_URL deploy/',
        'Where the setting came from, and where it is set',
        'a81f0d3 feat(payment): send passengers back to the page they came from\ndeploy/staging.toml:14:PAYMENT_RETURN_URL = "https://staging.ferrybook.example/pay/done"',
      ),
    ),
    answers(
      'Production runs 2.13.2 again since 38 s after the rollback began; no request has failed since.\n\nWhat happened:\n1. `a81f0d3` made `PAYMENT_RETURN_URL` a required setting.\n2. It was added to `deploy/staging.toml`, but not to `deploy/production.toml`, so staging passed.\n3. In production the first two instances of 2.14.0 stopped at the start. The rolling strategy held the other four on 2.13.2, so passengers saw 61 errors and no outage.\n\nTo release again, add the setting to `deploy/production.toml`.',
    ),
    asks('Make sure that this cannot happen with the next setting.', 150),
    calls(
      'A check before the release: every required setting must be set in the environment it goes to.',
      use(
        'edit',
        { filePath: 'deploy/check-settings.sh', oldString: '', newString: CHECK },
        'Created deploy/check-settings.sh',
        0.2,
      ),
      use(
        'edit',
        {
          filePath: 'deploy/release.toml',
          oldString: 'before = ["migrate --check"]',
          newString: 'before = ["migrate --check", "deploy/check-settings.sh $ENV"]',
        },
        'Edited deploy/release.toml',
        0.2,
      ),
    ),
    calls(
      'It must refuse production as it is now, and let staging pass.',
      shell(
        'chmod +x deploy/check-settings.sh; for env in staging production; do deploy/check-settings.sh $env; echo "$env: $?"; done',
        'Try the check in both environments',
        'staging: 0\nnot set on production: PAYMENT_RETURN_URL\nproduction: 1',
        3.1,
      ),
    ),
    answers(
      'The release now asks the code which settings it requires and compares them with the environment it goes to, before the first instance is replaced. It refuses production today, naming `PAYMENT_RETURN_URL`, and passes staging. With it the release of 2.14.0 would have stopped before anything was touched.',
    ),
  ],
};
