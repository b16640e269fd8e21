"""What the debates are compared with, one file each."""
