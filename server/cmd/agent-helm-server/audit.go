package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

type auditCommand struct {
	List   auditList   `cmd:"" aliases:"ls" help:"List who did what, newest first."`
	Verify auditVerify `cmd:"" help:"Recompute the chain over all lines; exit with 1 when one was changed."`
	Export auditExport `cmd:"" help:"Print all lines as JSON, one per line, newest first."`
}

type auditFilter struct {
	Action string `placeholder:"ACTION" help:"An action such as device.paired, or what stands before its dot."`
	Who    string `placeholder:"ID" help:"The id of who did it."`
	Target string `placeholder:"ID" help:"The id of what it was done to."`
}

func (f auditFilter) query(before int64, limit int) server.AuditQuery {
	return server.AuditQuery{Before: before, Action: f.Action, Who: f.Who, Target: f.Target, Max: limit}
}

type auditList struct {
	dataFlag
	auditFilter
	Limit int  `short:"n" default:"50" help:"How many lines (${default})."`
	JSON  bool `name:"json" help:"Print a list of objects."`
}

// Run lists lines.
func (c *auditList) Run(ctx context.Context, std streams) (err error) {
	if c.Limit < 1 {
		return server.Errorf(server.CodeInvalid, "--limit needs a number above 0")
	}
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	records, err := data.store.Audit(ctx, c.query(0, c.Limit))
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(std.out, records)
	}
	table := newTable(std.out, "ID", "WHEN", "ACTION", "WHO", "FROM", "TARGET", "DETAIL")
	for _, r := range records {
		who := strings.TrimSpace(string(r.Kind) + " " + r.Name)
		table.row(fmt.Sprint(r.ID), r.At.Local().Format(time.DateTime), r.Action, dash(who), dash(r.Address), dash(r.Target), r.Detail)
	}
	return table.flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type auditVerify struct{ dataFlag }

// Run verifies the chain.
func (c *auditVerify) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	bad, err := data.store.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	if bad != 0 {
		return fmt.Errorf("line %d was changed, or a line before it is missing: what follows it proves nothing", bad)
	}
	_, err = fmt.Fprintln(std.out, "every line fits the one before it")
	return err
}

type auditExport struct {
	dataFlag
	auditFilter
}

// Run exports lines.
func (c *auditExport) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	encoder := json.NewEncoder(std.out)
	for before := int64(0); ; {
		records, err := data.store.Audit(ctx, c.query(before, 500))
		if err != nil || len(records) == 0 {
			return err
		}
		for _, record := range records {
			if err := encoder.Encode(record); err != nil {
				return err
			}
			before = record.ID
		}
	}
}
