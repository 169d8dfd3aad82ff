// SPDX-License-Identifier: Apache-2.0
#include "cli/client_commands.h"

#include "cli/client_dashboard.h"
#include "cli/client_jobs.h"
#include "cli/client_login.h"
#include "cli/client_logs.h"
#include "cli/client_nodes.h"
#include "cli/client_submit.h"
#include "cli/client_tenants.h"
#include "cli/client_tokens.h"
#include "cli/client_top.h"

namespace weir::cli {

std::vector<Command> client_commands() {
  return {
      {submit_spec(), submit_command},
      {jobs_spec(), jobs_command},
      {job_spec(), job_command},
      {logs_spec(), logs_command},
      {cancel_spec(), cancel_command},
      {nodes_spec(), nodes_command},
      {drain_spec(), drain_command},
      {top_spec(), top_command},
      {dashboard_spec(), dashboard_command},
      {tenants_spec(), tenants_command},
      {tenants_set_spec(), tenants_set_command},
      {token_create_spec(), token_create_command},
      {token_list_spec(), token_list_command},
      {token_revoke_spec(), token_revoke_command},
      {login_spec(), login_command},
      {logout_spec(), logout_command},
  };
}

}  // namespace weir::cli
